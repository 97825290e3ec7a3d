"""Runs a test program in its own process and directory: MindSpore reads many settings once."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cases import FULL
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[4]
PROGRAMS = ROOT / "tests" / "programs" / "presets"


class Child:
    """Output of a child: `result` (its ``RESULT``), its output and its exit code."""

    def __init__(self, code: int, output: str, result: dict[str, Any]):
        self.code, self.output, self.result = code, output, result


def run(
    program: Path,
    place: Path,
    *arguments: str,
    environment: dict[str, str] | None = None,
    expect: int = 0,
    own_cache: bool = False,
    fresh: bool = False,
) -> Child:
    """Runs a program with working directory `place`.

    The process is a fork of one that has imported MindSpore.

    Args:
        program: a Python file that ends with ``answer()`` of `tests.programs.presets.child`.
        place: a directory; created if missing.
        arguments: the program's ``sys.argv[2:]``.
        environment: variables on top of this process's own.
        expect: the expected exit code.
        own_cache: the kernel cache is ``PLACE.cache`` instead of the common one in ``build/tests``.
        fresh: a new interpreter, for tests of imports, or of variables that MindSpore reads at
            import.
    """
    place.mkdir(parents=True, exist_ok=True)
    answer = place.parent / f"{place.name}.json"
    answer.unlink(missing_ok=True)
    # settings of earlier tests in this process must not reach the child
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MS_")}
    variables = {
        **inherited,
        "PYTHONPATH": str(ROOT),
        "GLOG_v": "4",
        "MS_FUSION_CACHE_DIR": f"{place}.cache"
        if own_cache
        else os.environ["MS_FUSION_TEST_CACHE"],
        **(environment or {}),
    }
    ended = run_program(
        program,
        str(answer),
        *arguments,
        cwd=place,
        environment=variables,
        timeout_s=1500,
        fresh=fresh,
    )
    assert ended.returncode == expect, ended.output[-4000:]
    return Child(
        ended.returncode, ended.output, json.loads(answer.read_text()) if answer.exists() else {}
    )


def some(request: pytest.FixtureRequest, every: Sequence[str], *full: str) -> list[str]:
    """All names; without those of `full` unless all tests run."""
    everything = request.config.getoption("--full")
    return [name for name in every if everything or name not in full]


def rows(every: Sequence[str], *full: str) -> list[Any]:
    """All names for `cases`; those of `full` belong to ``make test-all``."""
    return [pytest.param(name, marks=FULL) if name in full else name for name in every]
