"""The short stress run: every row holds; a failing row is reported and sets the exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cases import FULL, cases
from tests.stress.__main__ import main
from tests.stress.parts import Row, Stress
from tests.stress.rows import ROWS

ROOT = Path(__file__).resolve().parents[2]


GROUPS = [ROWS[first::6] for first in range(6)]


@FULL
@cases("group", GROUPS, ids=[str(first + 1) for first in range(6)], per_item=1)
def test_every_row_in_short(group: Sequence[Row], tmp_path: Path) -> None:
    # a separate process: this one may have threads, and rows fork
    asked = [text for row in group for text in ("--row", str(row.number))]
    answer = subprocess.run(
        [sys.executable, "-m", "tests.stress", *asked],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = answer.stdout.splitlines()
    assert len(lines) == len(group)
    for row, line in zip(group, lines, strict=True):
        assert line.startswith(f"{row.number:2} ok     {row.what}; asked: {row.asked}; seen: ")
    assert list(tmp_path.iterdir()) == [], "left behind"


def falls(stress: Stress) -> str:
    raise AssertionError(f"seed {stress.seed} of 7")


def dies(stress: Stress) -> str:
    os.kill(os.getpid(), signal.SIGKILL)


def litters(stress: Stress) -> str:
    Path("akg_kernel_meta").write_text("")
    return "nothing"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@cases(
    "check, seen",
    [
        (falls, "seed 3 of 7"),
        (dies, "died of SIGKILL"),
        (litters, "left in the current directory"),
        (lambda stress: "all", "all"),
    ],
)
def test_a_row_that_does_not_hold_is_told(check, seen: str, capsys: pytest.CaptureFixture) -> None:
    rows = [Row(1, "what", "nothing", check), Row(2, "more", "nothing", lambda stress: "fine")]
    wrong = seen != "all"
    assert main(["--seed", "3"], rows) == wrong
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(" 1 FAILED" if wrong else " 1 ok ")
    assert seen in first and "(seed 3, " in first
    assert second.startswith(" 2 ok ")


def test_every_row_of_the_list_is_there() -> None:
    assert [row.number for row in ROWS] == [*range(1, 16), 17, 18, 19, 21, 24, 25, 26]
