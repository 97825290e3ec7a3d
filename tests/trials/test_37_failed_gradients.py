"""After a gradient that fails, the next compiled gradient of a Cell with weights is correct."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ms_fusion.mindspore.known_faults import FAULTS
from tests.cases import FULL
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "trials" / "failed_gradients.py"


def answers(place: Path, *arguments: str) -> dict[str, str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(PROGRAM, *arguments, cwd=place, environment=variables)
    assert done.returncode == 0, done.output
    rows = (line.partition("; ") for line in done.output.splitlines())
    return {what: said for what, _, said in rows}


@pytest.mark.mindspore
def test_the_next_gradient_is_compiled(tmp_path: Path) -> None:
    said = answers(tmp_path, "fused")
    assert said["failed"].startswith("MatMulBias: weight does not fit x")
    assert (said["recording"], said["compiled"]) == ("False", "True")


@FULL
@pytest.mark.mindspore
def test_the_fault_is_of_mindspore(tmp_path: Path) -> None:
    said = answers(tmp_path)
    assert said["recording"] == "True"
    assert "no derivative of order 2" in said["compiled"]
    assert any(fault.call.startswith("ms.value_and_grad") for fault in FAULTS)
