"""Warnings of a compilation whose kernels were not all built."""

from __future__ import annotations

from pathlib import Path

import pytest

from ms_fusion.compile_server import refusals
from ms_fusion.mindspore.flags.generator_limits import KernelRefusal
from ms_fusion.mindspore.presets.compile_messages import report_refusals
from ms_fusion.mindspore.state.preset_record import FusionWarning


def test_slow_kernels_and_missing_ones_are_told_apart(tmp_path: Path) -> None:
    built_slow = KernelRefusal("Fold", "it cannot build Fused_Fold (Fold is not built)")
    missing = KernelRefusal("Odd", "it cannot build Fused_Odd (Odd of bool)", left=True)

    class Net:
        pass

    with (
        pytest.warns(FusionWarning) as said,
        report_refusals(Net(), "net", (), tmp_path, by_mindspore=False),
    ):
        refusals.record(tmp_path, [built_slow, missing])
    slow, left = (str(one.message) for one in said)
    assert slow.startswith("net: a kernel is right, but slow, computed without C, since our")
    assert "Fold is not built" in slow and "--disable_cluster_ops=Fold" in slow
    assert left.startswith("net: a kernel is left to MindSpore's own operators, since our")
    assert "Odd of bool" in left and "Fold" not in left
