"""A float16 net returns float16, fused and unfused, also with several results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases import FULL, cases
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "trials" / "dtypes_of_results.py"
QUICK = ("SqrtGrad", "Square", "Square, thrice", "BiasAddGrad", "BiasAddGrad, image", "Sort")
"""MindSpore computes these in float32; all others run in the long tests."""


@cases("generator", ["ms_fusion", pytest.param("mindspore", marks=FULL)])
def test_results_have_the_dtypes_of_the_unfused_net(
    generator: str, tmp_path: Path, full: bool
) -> None:
    names = () if full else QUICK
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(PROGRAM, generator, *names, cwd=tmp_path, environment=variables)
    assert done.returncode == 0, done.output
    rows = [line.split("; ") for line in done.output.splitlines() if line.count("; ") == 3]
    assert len(rows) >= len(QUICK)
    for name, plain, fused, apart in rows:
        assert fused == plain, name
        assert float(apart) < 0.005, name
