"""Rows 24 to 26: MindSpore operators, random networks and random Cells, fused by our generator."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.ms_fusion.kernel_server.any_vocabulary import DTYPES
from tests.ms_fusion.kernel_server.random_networks import OLD
from tests.stress.parts import ROOT, Row, Stress

NETWORKS, CELLS, PART = 500, 60, 25
AT_ONCE = min(os.cpu_count() or 1, 8)
"""Processes; each starts several compilers for part of its time."""
NETS = "tests.ms_fusion.kernel_server"
ONLY_FULL = "nothing: in short the tests of ms_fusion run a part"


def said(stress: Stress, module: str, parts: Sequence[Sequence[str]]) -> list[str]:
    """The output of a module for the arguments of each part, in separate processes."""

    def one(part: Sequence[str]) -> str:
        done = subprocess.run(
            [sys.executable, "-m", module, *part],
            cwd=stress.place,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, parts))


def tables(stress: Stress) -> str:
    """Every operator alone, before a sum, beside a broadcast."""
    if not stress.full:
        return ONLY_FULL
    right = 0
    for told in said(stress, f"{NETS}.table_runs", [[dtype] for dtype in DTYPES]):
        assert ", 0 wrong, " in told.splitlines()[0], told
        right += int(told.split()[1])
    return f"{right} expressions of {len(DTYPES)} dtypes right"


def networks(stress: Stress) -> str:
    """Networks of 2 to 40 operators with gradients."""
    # lower seeds draw from the original vocabulary
    return _seeds(stress, "network_runs", OLD + stress.seed * NETWORKS, NETWORKS)


def cells(stress: Stress) -> str:
    """Cells of 4 to 24 operators and layers, trained or called with several sizes."""
    return _seeds(stress, "cell_runs", stress.seed * CELLS, CELLS)


def _seeds(stress: Stress, module: str, first: int, count: int) -> str:
    if not stress.full:
        return ONLY_FULL
    right = skipped = 0
    while right < count:
        # replacements of those that MindSpore does not run
        start = first + right + skipped
        end = start + count - right
        parts = [[str(one), str(min(one + PART, end))] for one in range(start, end, PART)]
        for told in said(stress, f"{NETS}.{module}", parts):
            last = told.splitlines()[-1]
            assert ", 0 wrong, " in last, told
            skipped += int(last.split()[-2])
        assert skipped < count, "MindSpore runs hardly any"
        right = end - first - skipped
    return f"{right} right, {skipped} more that MindSpore does not run"


ROWS = (
    Row(
        24,
        "operators of MindSpore in our kernels × dtype × alone, summed, broadcast",
        "as exact as unfused, by NumPy's float64",
        tables,
    ),
    Row(
        25,
        f"{NETWORKS} random networks with gradients in our kernels",
        "as exact as unfused, by float64",
        networks,
    ),
    Row(
        26,
        f"{CELLS} random Cells in our kernels: trained, by amp, with batches of several sizes",
        "as exact as unfused, by float64",
        cells,
    ),
)
