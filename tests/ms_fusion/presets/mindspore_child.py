"""Run a program of a test in a process of its own with its own working directory: MindSpore latches much at first use."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cases import FULL
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests" / "programs" / "presets"

HEAD = """
import json, os, sys, warnings
from pathlib import Path
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn, ops
import ms_fusion as mf
from ms_fusion import presets
RESULT = {}
def kernels():
    place = os.environ.get("MS_COMPILER_CACHE_PATH")
    return sorted(path.stem for path in Path(place, "akg_kernel_meta").glob("*.so")) if place else []
def bodies():
    place = os.environ["MS_COMPILER_CACHE_PATH"]
    texts = [json.loads(path.read_text()) for path in Path(place, "akg_kernel_meta").glob("*.info")]
    return texts
def ones(*shape):
    return Tensor(np.ones(shape, np.float32))
"""


class Child:
    """What a child left: `result` (the dict ``RESULT`` of its code), its output and its exit code."""

    def __init__(self, code: int, output: str, result: dict[str, Any]):
        self.code, self.output, self.result = code, output, result


def run(
    body: str | Path,
    place: Path,
    *arguments: str,
    environment: dict[str, str] | None = None,
    head: str = HEAD,
    expect: int = 0,
    own_cache: bool = False,
    fresh: bool = False,
) -> Child:
    """Runs a program in `place`, which stays its working directory.

    The process is a fork of one that has MindSpore imported.

    Args:
        body: a Python file that ends with ``answer()`` of `tests.programs.presets.child`, or Python code that fills
            ``RESULT``, which runs behind `head`.
        place: a directory; it is made where it is missing.
        arguments: what a file finds in ``sys.argv[2:]``.
        environment: variables on top of this process's own.
        head: code before the body.
        expect: the exit code that is right.
        own_cache: kernels are kept in ``PLACE.cache``, and not with those of the other children of this session.
        fresh: a new interpreter, for what looks at imports, or at the environment in which MindSpore is loaded.
    """
    place.mkdir(parents=True, exist_ok=True)
    if isinstance(body, Path):
        script = body
    else:
        script = place.parent / f"{place.name}.py"
        tail = "\nPath(sys.argv[1]).write_text(json.dumps(RESULT))\n"
        script.write_text(head + body + tail, encoding="utf-8")
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
        script,
        str(answer),
        *arguments,
        cwd=place,
        environment=variables,
        timeout_s=600,
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
