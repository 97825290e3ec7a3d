"""Run a program of a test in a process and a working directory of its own: MindSpore latches much at first use."""

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
    """What a child left: `result` (its ``RESULT``), its output and its exit code."""

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
    """Runs a program in `place`, which stays its working directory.

    The process is a fork of one that has MindSpore imported.

    Args:
        program: a Python file that ends with ``answer()`` of `tests.programs.presets.child`.
        place: a directory; it is made where it is missing.
        arguments: what a file finds in ``sys.argv[2:]``.
        environment: variables on top of this process's own.
        expect: the exit code that is right.
        own_cache: kernels are kept in ``PLACE.cache``, and not in ``build/tests`` with those of the other children.
        fresh: a new interpreter, for what looks at imports, or at the environment in which MindSpore is loaded.
    """
    place.mkdir(parents=True, exist_ok=True)
    answer = place.parent / f"{place.name}.json"
    answer.unlink(missing_ok=True)
    # what an earlier test of this process made MindSpore use is not the child's
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
    """All names; without those of `full` where not everything is run."""
    everything = request.config.getoption("--full")
    return [name for name in every if everything or name not in full]


def rows(every: Sequence[str], *full: str) -> list[Any]:
    """All names for `cases`, of which those of `full` are left to ``make test-all``."""
    return [pytest.param(name, marks=FULL) if name in full else name for name in every]
