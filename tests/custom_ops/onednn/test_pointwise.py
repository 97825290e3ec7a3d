"""1 × 1 convolutions whose results exceed the caches, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.onednn import pointwise_convolution, prepare_conv2d, prepare_conv2d_backward
from custom_ops.onednn.verified_library import why_missing
from tests.cases import cases

pytestmark = pytest.mark.skipif(bool(why_missing()), reason=why_missing() or "")

# batch, channels of the larger and of the smaller side, places; channel block of the larger side
CASES = {
    "grouped": (2, 64, 16, (181, 183), 16),
    "five groups": (1, 80, 7, (200, 150), 16),
    "as many channels": (2, 64, 64, (181, 183), 64),
    "no whole groups": (2, 72, 16, (181, 171), 72),
    "in the caches": (2, 64, 16, (90, 91), 64),
    "few places": (2, 64, 16, (9, 7), 64),
    "many terms": (1, 288, 140, (90, 91), 16),
}
TOLERANCE = 2e-6


def _numbers(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    generator = np.random.default_rng(5)
    return [generator.standard_normal(shape, np.float32) for shape in shapes]


def _assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


@cases("case", CASES)
def test_rows_are_computed_in_groups_where_the_result_is_large(case: str) -> None:
    batch, rows, terms, places, together = CASES[case]
    assert (
        rows // pointwise_convolution._groups(batch, rows, terms, int(np.prod(places))) == together
    )


@cases("after", ["", "bias, relu", "residual", "bias, residual, silu"], sample=4)
@cases("case", CASES)
def test_pointwise_results_agree_with_float64(case: str, after: str) -> None:
    batch, out, channels, places, _ = CASES[case]
    x, weight, bias, residual = _numbers(
        (batch, channels, *places), (out, channels, 1, 1), (out,), (batch, out, *places)
    )
    expected = np.einsum("oc,nchw->nohw", weight[:, :, 0, 0].astype(np.float64), x, optimize=True)
    given = [x, weight]
    if "bias" in after:
        given.append(bias)
        expected += bias.reshape(-1, 1, 1)
    if "residual" in after:
        given.append(residual)
        expected += residual
    expected = np.maximum(expected, 0) if "relu" in after else expected
    expected = expected / (1 + np.exp(-expected)) if "silu" in after else expected
    activation = next((name for name in ("relu", "silu") if name in after), "")
    prepared = prepare_conv2d(
        x.shape,
        weight.shape,
        bias="bias" in after,
        residual="residual" in after,
        activation=activation,
    )
    _assert_near(prepared.call(given)[0], expected)


@cases("case", list(CASES), quick=4)
def test_gradient_of_x(case: str) -> None:
    batch, channels, out, places, _ = CASES[case]
    grad, weight = _numbers((batch, out, *places), (out, channels, 1, 1))
    expected = np.einsum(
        "oc,nohw->nchw", weight[:, :, 0, 0].astype(np.float64), grad, optimize=True
    )
    prepared = prepare_conv2d_backward((batch, channels, *places), weight.shape, wanted=("x",))
    _assert_near(prepared.call([grad, weight])[0], expected)
