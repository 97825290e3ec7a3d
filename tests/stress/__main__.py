"""The stress run, one line per row: ``python -m tests.stress [--full] [--row N] [--seed S]``."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tbe_impl import environment
from tests.stress.parts import Child, Row, Stress, files_below
from tests.stress.rows import ROWS

LIMIT_S = 3600.0


def run_row(row: Row, *, seed: int, full: bool) -> tuple[bool, str]:
    """Whether the row holds, and its observations; runs in a temporary process and directory."""
    place = Path(tempfile.mkdtemp(prefix="ms_fusion-stress-"))
    child = Child(lambda: _check(row, Stress(place, seed, full)))
    try:
        seen = child.end(LIMIT_S)
        left = [f"{name}/{path}" for name in ("work", "home") for path in files_below(place / name)]
        if left:
            return False, f"left in the current directory or the home: {', '.join(left[:3])}"
        return True, seen
    except AssertionError as error:
        return False, " ".join(str(error).split())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # processes that a failed row left running
        shutil.rmtree(place, ignore_errors=True)


def _check(row: Row, stress: Stress) -> str:
    os.setsid()
    for name in ("work", "home"):
        (stress.place / name).mkdir()
    os.chdir(stress.place / "work")
    for variable in (environment.COMPILER, environment.THREADS):
        os.environ.pop(variable.name, None)
    os.environ |= {
        environment.CACHE_DIR.name: str(stress.place / "cache"),
        "HOME": str(stress.place / "home"),
        "XDG_CACHE_HOME": str(stress.place / "home" / "cache"),
    }
    with contextlib.redirect_stdout(sys.stderr):
        return row.check(stress)


def main(arguments: Sequence[str] | None = None, rows: Sequence[Row] = ROWS) -> int:
    """Runs the selected rows; returns 1 when one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description=__doc__)
    parser.add_argument("--full", action="store_true", help="as often as the rows ask")
    parser.add_argument("--row", type=int, action="append", choices=[row.number for row in rows])
    parser.add_argument("--seed", type=int, default=1, help="of everything random")
    asked = parser.parse_args(arguments)
    failed = 0
    for row in rows:
        if asked.row and row.number not in asked.row:
            continue
        begin = time.monotonic()
        holds, seen = run_row(row, seed=asked.seed, full=asked.full)
        failed += not holds
        print(
            f"{row.number:2} {'ok    ' if holds else 'FAILED'} {row.what}; asked: {row.asked}; "
            f"seen: {seen}"
            f" (seed {asked.seed}, {time.monotonic() - begin:.0f} s)",
            flush=True,
        )
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
