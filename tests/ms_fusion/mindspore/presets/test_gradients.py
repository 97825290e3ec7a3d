"""A net under each preset has the unfused loss and gradients, also in mixed precision."""

from __future__ import annotations

import json

import pytest

from tests.cases import FULL
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

PRESETS = {
    "mindspore": ("basic", "auto", "aggressive", "expert", "precise"),
    "ms_fusion": ("auto",),
}
TOLERANCE = {"float32": 1e-4, "float16": 4e-3}
"""Relative to the largest gradient. `aggressive` clusters exponentials with an error of 2.8e-4."""


RUNS = [
    (generator, preset, dtype)
    for generator, names in PRESETS.items()
    for preset in names
    for dtype in TOLERANCE
]


@FULL
@pytest.mark.mindspore
def test_loss_and_gradients_are_those_of_the_unfused_net(tmp_path):
    """Faster tests of training: `test_own_generator_flags`, `test_optimizers`, `test_compile_retry`
    (float16).
    """
    names = [" ".join(one) for one in RUNS]
    found = run(
        PROGRAMS / "gradients_of_presets.py",
        tmp_path / "work",
        json.dumps([name.split() for name in names]),
    )
    assert "tiling repo" not in found.output and "Stack trace" not in found.output
    assert sorted(found.result) == sorted(names)
    for name, (worst, built) in found.result.items():
        _, preset, dtype = name.split()
        assert worst <= TOLERANCE[dtype], name
        if preset == "precise":
            assert worst == 0.0, name
        if preset in ("auto", "basic") and dtype == "float32":
            assert built, f"{name}: nothing was fused, so nothing was tested"
