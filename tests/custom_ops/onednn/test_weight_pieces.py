"""Weight gradients as partial sums: right for every geometry, more accurate than oneDNN's sum."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from custom_ops.onednn import (
    convolution_plans,
    im2col,
    prepare_conv2d_backward,
    weight_gradient,
    why_missing,
)
from custom_ops.onednn.geometry import geometry
from custom_ops.onednn.layouts import memory_shape
from custom_ops.onednn.weight_gradient import pieces
from tests.cases import cases

pytestmark = pytest.mark.skipif(bool(why_missing()), reason="oneDNN is not there")

# x, weight, attributes
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "few channels": ((2, 3, 40, 40), (16, 3, 3, 3), {"padding": 1}),
    "few channels, stride 2": ((2, 3, 63, 61), (32, 3, 7, 7), {"padding": 3, "stride": 2}),
    "rows": ((2, 16, 33, 37), (24, 16, 3, 3), {"padding": 1}),
    "one row a piece": ((1, 16, 9, 600), (16, 16, 3, 3), {"padding": 1}),
    "several images a piece": ((64, 16, 6, 6), (16, 16, 3, 3), {"padding": 1}),
    "a rest of images": ((21, 16, 8, 8), (16, 16, 3, 3), {"padding": 1}),
    "several images, rows unused": ((8, 64, 16, 16), (64, 64, 1, 1), {"stride": 2}),
    "several images, two rows unused": ((8, 16, 32, 32), (16, 16, 2, 2), {"stride": 3}),
    "several images, padded": ((8, 16, 15, 15), (16, 16, 3, 3), {"stride": 2, "padding": "same"}),
    "1x1": ((2, 32, 40, 40), (16, 32, 1, 1), {}),
    "1x1, stride 2": ((2, 64, 56, 56), (32, 64, 1, 1), {"stride": 2}),
    "stride 3, rows unused": ((2, 16, 75, 74), (16, 16, 3, 3), {"stride": 3}),
    "dilation": ((2, 16, 40, 40), (16, 16, 3, 3), {"padding": 4, "dilation": (4, 2)}),
    "unlike on all sides": (
        (2, 16, 30, 41),
        (16, 16, 3, 2),
        {"padding": (2, 0, 1, 3), "stride": (2, 1)},
    ),
    "same, even": ((2, 16, 64, 64), (16, 16, 3, 3), {"padding": "same", "stride": 2}),
    "groups": ((2, 32, 32, 32), (32, 16, 3, 3), {"padding": 1, "groups": 2}),
    "depthwise": ((2, 16, 32, 32), (16, 1, 3, 3), {"padding": 1, "groups": 16}),
    "one channel out": ((2, 16, 32, 32), (1, 16, 1, 1), {}),
    "odd channels": ((2, 19, 32, 32), (21, 19, 3, 3), {"padding": 1}),
    "padding alone under a row": ((1, 16, 6, 400), (16, 16, 3, 3), {"padding": (4, 4, 1, 1)}),
}


def away(found: np.ndarray, exact: np.ndarray) -> float:
    """Root mean square of the difference, relative to that of the exact result."""
    return float(np.sqrt(np.mean((found.astype(np.float64) - exact) ** 2) / np.mean(exact**2)))


def drawn(case: str, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """x and the gradient of y."""
    x_shape, weight_shape, given = CASES[case]
    generator = np.random.default_rng(7)
    sizes = geometry("", x_shape, weight_shape, **given)
    return tuple(  # type: ignore[return-value]
        generator.standard_normal(shape).astype(dtype) for shape in (sizes.x, sizes.y)
    )


def exact_of(case: str, x: np.ndarray, grad: np.ndarray) -> list[np.ndarray]:
    x_shape, weight_shape, given = CASES[case]
    sizes = geometry("", x_shape, weight_shape, **given)
    return im2col.backward(
        sizes, ("weight", "bias"), grad.astype(np.float64), x=x.astype(np.float64)
    )


def prepared(case: str, **more: Any) -> Any:
    x_shape, weight_shape, given = CASES[case]
    return prepare_conv2d_backward(
        x_shape, weight_shape, wanted=("weight", "bias"), lowering="onednn", **given, **more
    )


@pytest.fixture
def in_one(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The single sum of oneDNN."""

    def computed(case: str, *arrays: np.ndarray) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(weight_gradient, "pieces", lambda sizes, threads: [])
            convolution_plans.plan_gradients.cache_clear()
            found = prepared(case).call(arrays)
        convolution_plans.plan_gradients.cache_clear()
        return found

    return computed


@cases("case", CASES)
def test_every_geometry(case: str, in_one: Any) -> None:
    x, grad = drawn(case)
    exact = exact_of(case, x, grad)
    found = prepared(case).call((grad, x))
    for one, whole, right in zip(found, in_one(case, grad, x), exact, strict=True):
        # same magnitude: another order of the same sum may be as far off
        assert away(one, right) <= max(1.2 * away(whole, right), 2e-7)


@cases("case", ["few channels", "rows", "several images a piece", "same, even"])
def test_nearer_than_one_sum(case: str, in_one: Any) -> None:
    x, grad = drawn(case)
    weight, _ = exact_of(case, x, grad)
    assert away(prepared(case).call((grad, x))[0], weight) < 0.7 * away(
        in_one(case, grad, x)[0], weight
    )


@cases("last", [("x",), ("grad",), ("x", "grad")])
@cases("case", ["few channels", "rows", "groups", "a rest of images", "1x1, stride 2"])
def test_channels_last(case: str, last: tuple[str, ...]) -> None:
    x, grad = drawn(case)
    turned = [
        np.ascontiguousarray(one.transpose(0, 2, 3, 1)) if name in last else one
        for name, one in (("grad", grad), ("x", x))
    ]
    assert turned[1].shape == memory_shape(x.shape, "x" in last)
    for one, right in zip(
        prepared(case, channels_last=last).call(turned), exact_of(case, x, grad), strict=True
    ):
        assert away(one, right) < 8e-7


@cases("dtype, rounding", [(np.float16, 5e-4), (ml_dtypes.bfloat16, 4e-3)])
@cases("case", ["few channels", "rows"])
def test_numbers_of_16_bits(case: str, dtype: Any, rounding: float) -> None:
    x, grad = drawn(case, dtype)
    made = prepared(case, dtype=np.dtype(dtype).name).call((grad, x))
    for one, right in zip(made, exact_of(case, x, grad), strict=True):
        assert one.dtype == dtype
        assert away(one, right) < rounding


def test_the_number_of_threads_changes_nothing() -> None:
    x, grad = drawn("rows")
    one, two = (prepared("rows", threads=threads).call((grad, x)) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_many_callers_at_once() -> None:
    plan = prepared("rows", threads=2)
    x, grad = drawn("rows")
    alone = [plan.call((grad * factor, x)) for factor in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        together = list(
            pool.map(lambda factor: plan.call((grad * np.float32(factor), x)), [*range(1, 9)] * 4)
        )
    for number, made in enumerate(together):
        assert np.array_equal(made[0], alone[number % 8][0])


@cases("case", CASES)
def test_pieces_cover_the_result_once(case: str) -> None:
    x_shape, weight_shape, given = CASES[case]
    sizes = geometry("", x_shape, weight_shape, **given)
    parts = pieces(sizes, 2)
    covered = np.zeros((sizes.y[0], sizes.y[2]), int)
    for one in parts:
        images, _, rows, width = one.sizes.y
        assert width == sizes.y[3]
        covered[one.image : one.image + images, one.y_row : one.y_row + rows] += 1
    assert (covered == (1 if parts else 0)).all()


def test_no_pieces_where_they_bring_nothing() -> None:
    assert not pieces(geometry("", (2, 64, 7, 7), (64, 64, 3, 3), padding=1), 2)
    assert not pieces(geometry("", (2, 64, 16, 16), (64, 64, 3, 3), padding=1), 16)
    assert not pieces(
        geometry(
            "", *CASES["padding alone under a row"][:2], **CASES["padding alone under a row"][2]
        ),
        2,
    )


def test_weights_of_one_place_are_products_of_images_as_they_lie() -> None:
    x_shape, weight_shape, _ = CASES["1x1"]
    alone = prepare_conv2d_backward(x_shape, weight_shape, wanted=("weight",), lowering="onednn")
    x, grad = drawn("1x1")
    assert all("gemm" in name or "brg" in name for name in alone.implementations)
    assert alone.scratch_bytes < x.nbytes
    assert away(alone.call((grad, x))[0], exact_of("1x1", x, grad)[0]) < 5e-7
