"""With AVX2 alone, sums over many channels are split into partial sums.

Partial sums are closer to float64 than one sequential sum.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from custom_ops.onednn import why_missing
from custom_ops.onednn.geometry import geometry
from custom_ops.onednn.split_channels import SEQUENTIAL_IMPLEMENTATION, piece_count
from tbe_impl.runtime.machine import cpu_features
from tests.cases import cases
from tests.custom_ops.onednn.channels_in_pieces_child import CASES

MANY = {"many channels": 4, "three pieces": 3, "one piece": 1, "1x1": 1}
FARTHEST = 6.5e-7
"""Error limit against float64; 4,608 products in one sequential sum are off by 1.1e-6."""


@cases("case", CASES)
def test_each_case_has_its_number_of_partial_sums(case: str) -> None:
    x, weight, how = CASES[case]
    assert piece_count(geometry("Conv2d", x, weight, **how), "float32") == MANY[case]


def test_short_sums_groups_and_narrow_numbers_are_not_parted() -> None:
    assert piece_count(geometry("Conv2d", (1, 16, 9, 9), (8, 16, 3, 3)), "float32") == 1
    assert piece_count(geometry("Conv2d", (1, 64, 9, 9), (64, 32, 3, 3), groups=2), "float32") == 1
    assert piece_count(geometry("Conv2d", (1, 64, 9, 9), (64, 64, 3, 3)), "bfloat16") == 1


@pytest.mark.skipif(
    bool(why_missing()) or "avx2" not in cpu_features(), reason="oneDNN with AVX2 is not there"
)
def test_pieces_are_right_and_nearer_than_one_sum(full: bool) -> None:
    """All epilogues; ``make test`` takes every fifth."""
    step = 1 if full else 5
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"}
    command = [sys.executable, "-m", "tests.custom_ops.onednn.channels_in_pieces_child", str(step)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name for name, *_ in lines} == {*CASES}
    for name, what, implementations, off in lines:
        assert off < FARTHEST, (name, what)
        assert len(implementations) == MANY[name], (name, what)
        assert MANY[name] == 1 or {*implementations} == {SEQUENTIAL_IMPLEMENTATION}, (name, what)
