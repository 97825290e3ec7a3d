"""Gradients of poolings are compiled without a warning and are those in float64."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "trials" / "pooling_gradients.py"


@pytest.mark.mindspore
def test_gradients_of_poolings(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(PROGRAM, cwd=tmp_path, environment=variables)
    assert done.returncode == 0, done.output
    assert "[WARNING]" not in done.output and "FusionWarning" not in done.output
    found = dict(line.split("; ") for line in done.output.splitlines() if "; " in line)
    assert len(found) == 7
    assert {name: error for name, error in found.items() if float(error) > 2e-6} == {}
