"""The gradient of a padding is right in each call; MindSpore's is zero from the second call on."""

from __future__ import annotations

import os
from pathlib import Path

from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "trials" / "paddings.py"


def test_paddings_and_their_gradients_in_each_call(tmp_path: Path, full: bool) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = ("all",) if full else ()
    done = run_program(PROGRAM, *arguments, cwd=tmp_path, environment=variables)
    assert done.returncode == 0, done.output
    lines = done.output.splitlines()
    assert not [line for line in lines if line.startswith("WRONG")]
    assert f"tried: {38 if full else 4}" in lines
