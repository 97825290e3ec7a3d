"""`MS_FUSION=off` covers every program-changing feature, and is reported once."""

from __future__ import annotations

import os
from pathlib import Path

from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "trials" / "off_changes_nothing.py"


def test_off_changes_nothing_and_is_said_once(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "MS_FUSION": "off"}
    done = run_program(PROGRAM, cwd=tmp_path, environment=variables)
    assert done.returncode == 0, done.output
    lines = done.output.splitlines()
    assert "changed: False replaced: 0 same: True" in lines
    assert ": SequentialCell → left: MS_FUSION=off is set in the environment" in lines
    assert "after undo: False" in lines
    assert (
        "MS_FUSION: nothing is tuned while ms_fusion is off; expected on, got 'off'. Unset it"
        in lines
    )
    assert done.output.count("MS_FUSION=off: ms_fusion changes nothing") == 1


def test_without_off_the_same_program_is_changed(tmp_path: Path) -> None:
    """Proves that the test before can fail."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "MS_FUSION": "on"}
    program = tmp_path / "program.py"
    program.write_text(
        PROGRAM.read_text().split("mf.enable()")[0]
        + "print('made:', len(record.replaced), state(net) != before)\n"
    )
    done = run_program(program, cwd=tmp_path, environment=variables)
    assert done.returncode == 0, done.output
    (line,) = (one for one in done.output.splitlines() if one.startswith("made: "))
    _, count, changed = line.split()
    assert int(count) > 0 and changed == "True"
