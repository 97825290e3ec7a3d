"""Rows 24 and 25: operators and random networks of MindSpore, fused by our generator."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.ms_fusion.kernel_server.any_vocabulary import DTYPES
from tests.ms_fusion.kernel_server.random_networks import OLD
from tests.stress.parts import ROOT, Row, Stress

NETWORKS, PART = 500, 50
ONLY_FULL = "nothing: in short the tests of ms_fusion run a part"


def said(stress: Stress, module: str, *arguments: str) -> str:
    """What a module prints when it runs in a process of its own."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], cwd=stress.place, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def tables(stress: Stress) -> str:
    """Every operator by itself, before a sum, beside what is broadcast."""
    if not stress.full:
        return ONLY_FULL
    right = 0
    for dtype in DTYPES:
        told = said(stress, "tests.ms_fusion.kernel_server.table_runs", dtype)
        assert ", 0 wrong, " in told.splitlines()[0], told
        right += int(told.split()[1])
    return f"{right} expressions of {len(DTYPES)} dtypes right"


def networks(stress: Stress) -> str:
    """Networks of 2 to 40 operators with gradients, in processes of 50."""
    if not stress.full:
        return ONLY_FULL
    # below it networks are drawn from less, as they were before there was more
    start = OLD + stress.seed * NETWORKS
    for first in range(start, start + NETWORKS, PART):
        told = said(stress, "tests.ms_fusion.kernel_server.network_runs", str(first), str(first + PART))  # fmt: skip
        assert ", 0 wrong, " in told.splitlines()[-1], told
    return f"{NETWORKS} networks right"


ROWS = (
    Row(24, "operators of MindSpore in our kernels × dtype × alone, summed, broadcast", "as exact as unfused, by NumPy's float64", tables),
    Row(25, "500 random networks with gradients in our kernels", "as exact as unfused, by float64", networks),
)  # fmt: skip
