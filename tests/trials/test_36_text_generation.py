"""Text generation: padded sequences have the tokens of growing ones, in two compilations.

A net that is compiled for many shapes warns, once.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases import FULL, cases
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs" / "trials"


def answers(program: str, place: Path, *arguments: str) -> dict[str, str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(PROGRAMS / program, *arguments, cwd=place, environment=variables)
    assert done.returncode == 0, done.output
    return dict(line.split("; ", 1) for line in done.output.splitlines() if "; " in line)


@FULL
@cases("seed", range(4))
@pytest.mark.mindspore
def test_padded_sequences_have_the_tokens_of_growing_ones(seed: int, tmp_path: Path) -> None:
    said = answers("text_generation.py", tmp_path, str(seed))
    assert said["compiled unfused"] == "0"
    assert (said["same tokens"], said["same again"]) == ("True", "True")
    assert (said["compiled"], said["compiled again"]) == ("2", "0")
    assert float(said["grown by MiB"]) < 8
    assert (said["same cached"], said["compiled cached"]) == ("True", "1")


@pytest.mark.mindspore
def test_many_shapes_are_warned_of_once(tmp_path: Path) -> None:
    said = answers("many_shapes.py", tmp_path)
    assert said["warnings"] == "1"
    assert said["warning"].startswith("growing: compiled for 8 sets of input shapes.")
    assert said["recompiled"].startswith("1 2:float32 is compiled again, since only 2")
