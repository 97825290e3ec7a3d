"""MindSpore's wrong results on CPU, unfused and fused, which docs/presets.md lists.

They are not faults of our kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ms_fusion.mindspore.known_faults import FAULTS
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(
        PROGRAMS / "faults_of_mindspore.py", tmp_path_factory.mktemp("faults") / "work"
    ).result


WAYS = cases("way", ["unfused", "fused"])


def told(call: str) -> bool:
    return any(fault.call.startswith(call) for fault in FAULTS)


@FULL
@WAYS
@pytest.mark.mindspore
def test_the_gradient_of_selu(found: Any, way: str) -> None:
    def selu(x: Any) -> Any:
        return 1.0507009873554805 * np.where(
            x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))
        )

    x, step = np.float64([-2.5625, -0.5, 0.3125, 1.4375]), 1e-6
    slope = 2 * (selu(x + step) - selu(x - step)) / (2 * step)
    seen = np.float64(found[f"selu {way}"])
    np.testing.assert_allclose(seen[2:], slope[2:], rtol=1e-6)
    # selu + 1 where it should be selu + 1.758
    np.testing.assert_allclose(seen[:2], 2 * 1.0507009873554805 * (selu(x[:2]) + 1), rtol=1e-5)
    assert (seen[:1] < 0).all() and (slope > 0).all()
    assert told("ops.selu(")


@FULL
@WAYS
@pytest.mark.mindspore
def test_momentum_by_nesterov(found: Any, way: str) -> None:
    first = np.float64(found[f"nesterov {way}"][0])
    np.testing.assert_allclose(first, -0.1 * 0.125, rtol=1e-6)
    assert abs(first[0] + 0.1 * (0.125 + 0.5 * 0.125)) > 0.005
    assert told("nn.Momentum(")


@FULL
@WAYS
@pytest.mark.mindspore
def test_the_epsilon_of_rmsprop(found: Any, way: str) -> None:
    seen, square = np.float64(found[f"rmsprop {way}"][0]), 0.9 + 0.1 * 0.125**2
    within, behind = -0.1 * 0.125 / np.sqrt(square + 0.25), -0.1 * 0.125 / (np.sqrt(square) + 0.25)
    np.testing.assert_allclose(seen[16:], within, rtol=1e-5)
    np.testing.assert_allclose(seen[:16], behind, rtol=1e-5)
    assert told("nn.RMSProp(")


@FULL
@WAYS
@pytest.mark.mindspore
def test_gradients_of_the_larger_are_float32(found: Any, way: str) -> None:
    x = np.float64([0.3, 0.7, 1.1])
    off = np.abs(np.float64(found[f"larger {way}"]) / (0.2 * x) - 1).max()
    assert 1e-10 < off < 1e-6
    assert told("ops.fmax(")


@FULL
@WAYS
@pytest.mark.mindspore
def test_the_gradient_of_a_padding(found: Any, way: str) -> None:
    """By flags alone; `tests/trials/test_10_padding.py` tests the right result of `mf.enable()`."""
    assert [sum(call) for call in found[f"padding {way}"]] == [7, 4, 1]
    assert told("ops.pad(")


@FULL
@pytest.mark.mindspore
def test_a_read_that_is_fused_by_flags_of_ones_own(found: Any) -> None:
    """Right under `mf.enable()`: test_order_of_effects."""
    assert abs(found["read first unfused"] - (np.tanh(1) - 4)) < 1e-3
    assert abs(found["read first fused"] - (np.tanh(2) - 4)) < 1e-3
    assert told("graph_kernel_flags=")
