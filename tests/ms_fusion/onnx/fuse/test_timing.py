"""Kernel timing of `verify`."""

from __future__ import annotations

from typing import Any

import pytest

from ms_fusion.onnx.fuse import kernel_functions


def test_what_disturbs_one_sweep_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other load slows one version of a kernel in the first sweep, and the other version in the
    second.
    """
    seen: list[str] = []
    disturbed = {(0, "a"): (0.0, 900.0), (1, "a"): (900.0, 0.0)}

    def measured(rows: Any, rounds: int) -> tuple[float, float]:
        more = disturbed.get((seen.count(rows), rows), (0.0, 0.0))
        seen.append(rows)
        return 30.0 + more[0], 20.0 + more[1]

    monkeypatch.setattr(kernel_functions, "measure_chains", measured)
    both: Any = {"first": "a", "second": "b"}
    assert kernel_functions._measure_sweeps(both) == {"first": (30.0, 20.0), "second": (30.0, 20.0)}
    assert seen == ["a", "b"] * kernel_functions.SWEEPS
