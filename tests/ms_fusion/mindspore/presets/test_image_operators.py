"""Operators of convolutional nets in our groups have the unfused results and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, rows, run, some

EXPECTED = {
    "activated": "ReLU6 ReLU6Grad HSwish HSwishGrad HSigmoid HSigmoidGrad Elu EluGrad Mish",
    "resized": "ResizeNearestNeighbor ResizeNearestNeighborGrad AdaptiveAvgPool2D "
    "AdaptiveAvgPool2DGrad",
    "smaller": "ResizeNearestNeighbor",
    "stacked": "Stack",
    "pooled": "",
    "pooled_3d": "AvgPool3D AvgPool3DGrad MaxPool3D MaxPool3DGrad",
    "pooled_1d": "MaxPool AvgPool",
}
"""Grouped operators, by the function that uses them."""
SLOW = ("activated", "smaller", "stacked", "pooled", "pooled_3d")
"""Further functions of `make test-all`."""


@pytest.fixture(scope="module")
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("images") / "work"
    return run(PROGRAMS / "image_operators.py", place, *some(request, [*EXPECTED], *SLOW)).result


@pytest.mark.mindspore
def test_image_operators_are_in_the_groups(
    request: pytest.FixtureRequest, seen: dict[str, Any]
) -> None:
    assert not seen.get("failed")
    wanted = " ".join(EXPECTED[name] for name in some(request, [*EXPECTED], *SLOW))
    assert {name for group in seen["groups"] for name in group} >= set(wanted.split())
    bodies, built = seen["built"]
    assert bodies == built


@pytest.mark.mindspore
@cases("name", rows([*EXPECTED], *SLOW))
def test_results_and_gradients_are_those_of_the_unfused_net(
    seen: dict[str, Any], name: str
) -> None:
    for fused, unfused in zip(seen[f"{name} True"], seen[f"{name} False"], strict=True):
        np.testing.assert_allclose(fused, unfused, rtol=2e-4, atol=1e-4)
