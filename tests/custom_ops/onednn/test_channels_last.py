"""Channels-last convolutions against NumPy in NCHW."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from custom_ops.onednn import (
    prepare_conv2d,
    prepare_conv2d_backward,
    prepare_max_pool_gradient,
    why_missing,
)
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.custom_ops.onednn.test_convolution import CASES

pytestmark = pytest.mark.skipif(bool(why_missing()), reason="oneDNN is not there")
NAMES = ("x", "y", "residual")


def arrays(prepared: Any) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal(kind.shape).astype(np.float32) for kind in prepared.inputs]


def turned(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@cases("last", [NAMES, ("y", "residual"), ("x",), ("x", "y"), ()], sample=45, per_item=100)
@cases("case", CASES)
def test_a_convolution_with_all_that_can_follow(case: str, last: tuple[str, ...]) -> None:
    x_shape, weight_shape, how = CASES[case]
    more = {"bias": True, "residual": True, "scale": True, "activation": "relu"}
    plain = prepare_conv2d(x_shape, weight_shape, **how, **more, lowering="im2col")
    prepared = prepare_conv2d(x_shape, weight_shape, **how, **more, channels_last=last)
    given = arrays(plain)
    (wanted,) = plain.call(given)
    (found,) = prepared.call(
        [
            turned(item) if kind.name in last else item
            for kind, item in zip(plain.inputs, given, strict=True)
        ]
    )
    close(found, turned(wanted) if "y" in last else wanted)


@cases("last", [NAMES, ()])
def test_a_scale_and_a_residual_have_a_quick_implementation(last: tuple[str, ...]) -> None:
    prepared = prepare_conv2d(
        (2, 32, 8, 8), (32, 32, 3, 3), padding=1, scale=True, residual=True, channels_last=last
    )
    assert not any(name.startswith("ref") for name in prepared.implementations)


def test_long_sums_are_as_near_to_float64_as_in_the_usual_order() -> None:
    shapes = {"x_shape": (1, 384, 7, 7), "weight_shape": (32, 384, 3, 3)}
    plain, last = (
        prepare_conv2d(**shapes, residual=True, channels_last=names) for names in ((), NAMES)
    )
    exact = prepare_conv2d(**shapes, residual=True, dtype="float64")
    given = arrays(plain)
    (wanted,) = exact.call([one.astype(np.float64) for one in given])
    (found,) = plain.call(given)
    x, weight, residual = given
    (with_last,) = last.call([turned(x), weight, turned(residual)])
    away, away_last = (
        np.sqrt(np.mean((one - wanted) ** 2)) for one in (found, np.moveaxis(with_last, -1, 1))
    )
    assert away_last <= 1.2 * away


@cases("last", [("grad", "x", "grad_x"), ("grad",), ("grad_x",)], sample=30, per_item=60)
@cases("case", CASES)
def test_gradients(case: str, last: tuple[str, ...]) -> None:
    x_shape, weight_shape, how = CASES[case]
    plain = prepare_conv2d_backward(x_shape, weight_shape, **how, lowering="im2col")
    prepared = prepare_conv2d_backward(x_shape, weight_shape, **how, channels_last=last)
    given = arrays(plain)
    found = prepared.call(
        [
            turned(item) if kind.name in last else item
            for kind, item in zip(plain.inputs, given, strict=True)
        ]
    )
    for kind, mine, wanted in zip(plain.outputs, found, plain.call(given), strict=True):
        close(mine, turned(wanted) if kind.name in last else wanted)


def test_the_gradient_of_max_pooling() -> None:
    sizes = {"window": (3, 3), "stride": (2, 2), "before": (1, 0)}
    plain, last = (
        prepare_max_pool_gradient((2, 5, 7, 8), (2, 5, 4, 4), **sizes, channels_last=way)
        for way in (False, True)
    )
    given = arrays(plain)
    close(last.call([turned(item) for item in given])[0], turned(plain.call(given)[0]))


def test_nan_stays_where_it_is() -> None:
    prepared = prepare_conv2d(
        (1, 2, 2, 2), (3, 2, 1, 1), scale=True, activation="relu", channels_last=("x", "y")
    )
    x, weight, scale = arrays(prepared)
    x[0, 0, 1, 0] = np.nan
    (found,) = prepared.call([x, weight, scale])
    assert np.isnan(found[0, 0, 1]).all() and np.isfinite(found[0, 1]).all()


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(
        InputError, match=r"channels_last is wrong; expected some of x, y, residual, got z"
    ):
        prepare_conv2d((1, 2, 2, 2), (3, 2, 1, 1), channels_last=("z",))
    with pytest.raises(InputError, match="channels_last is oneDNN's"):
        prepare_conv2d((1, 2, 2, 2), (3, 2, 1, 1), channels_last=("x",), lowering="im2col")
    with pytest.raises(InputError, match="dtype is not computed"):
        prepare_max_pool_gradient(
            (1, 1, 2, 2), (1, 1, 1, 1), window=(2, 2), stride=(2, 2), before=(0, 0), dtype="float64"
        )
