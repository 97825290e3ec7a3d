"""Peak memory of operators in MindSpore, forward and backward, beside basic operators."""

from __future__ import annotations

import pytest

from benchmarks.peak_memory import CASES, peaks
from tests.cases import FULL, cases
from tests.peak_memory import needs_linux

pytestmark = [pytest.mark.mindspore, needs_linux]


@FULL  # two processes that import MindSpore for each
@cases("name", ["attention", "linear cross entropy"])
def test_peak_is_a_share_of_the_unfused(name):
    pytest.importorskip("mindspore")
    ours, unfused = peaks(CASES[name])
    assert ours * CASES[name].share <= unfused, (ours, unfused)
