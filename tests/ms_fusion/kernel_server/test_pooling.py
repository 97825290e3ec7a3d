"""Pooling and its gradients in groups, against the formulas in float64, and these against windows taken one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ms_fusion.accuracy.pooling import Windows, gradient_of_largest, gradient_of_mean, largest, mean
from tests.ms_fusion.kernel_server.composites import Text, check, run

NAN = float("nan")
CASES = (
    ((7, 9), (3, 3), (2, 2), "SAME"),
    ((8, 6), (2, 2), (2, 2), "VALID"),
    ((7, 9), (3, 2), (1, 3), "VALID"),
    ((5, 5), (5, 5), (1, 1), "SAME"),
    ((4, 5), (1, 1), (2, 3), "SAME"),
)
FORMATS = {"NCHW": (2, 3), "NHWC": (1, 2)}


def _where(sizes: tuple[int, int], spans: tuple[int, int], strides: tuple[int, int], mode: str, axes: tuple[int, int]) -> Windows:  # fmt: skip
    return Windows(axes, sizes, spans, strides, mode)


def _shape(order: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (2, 3, *sizes) if order == "NCHW" else (2, *sizes, 3)


def _four(pair: tuple[int, int], order: str) -> list[int]:
    return [1, 1, *pair] if order == "NCHW" else [1, *pair, 1]


@pytest.mark.parametrize("case", CASES)
def test_formulas_are_what_windows_hold(case: Any) -> None:
    where, random = _where(*case, (0, 1)), np.random.default_rng(0)
    x, gradient = random.permutation(np.prod(case[0])).reshape(case[0]).astype(float), random.random(where.counts)  # fmt: skip
    most, middle = np.zeros(where.counts), np.zeros(where.counts)
    of_most, of_middle = np.zeros(x.shape), np.zeros(x.shape)
    for at in itertools.product(*map(range, where.counts)):
        first = [index * step - start for index, step, start in zip(at, where.strides, where.starts, strict=True)]  # fmt: skip
        held = [place for place in itertools.product(*(range(one, one + span) for one, span in zip(first, where.spans, strict=True))) if all(0 <= item < size for item, size in zip(place, x.shape, strict=True))]  # fmt: skip
        best = max(held, key=lambda place: x[place])
        most[at], middle[at] = x[best], np.mean([x[place] for place in held])
        of_most[best] += gradient[at]
        for place in held:
            of_middle[place] += gradient[at] / len(held)
    np.testing.assert_array_equal(largest(where, x), most)
    np.testing.assert_allclose(mean(where, x), middle)
    np.testing.assert_allclose(gradient_of_largest(where, x, gradient), of_most)
    np.testing.assert_allclose(gradient_of_mean(where, x, gradient), of_middle)


@pytest.mark.parametrize("order", FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_groups_with_pooling(case: Any, dtype: str, order: str) -> None:
    sizes, spans, strides, mode = case
    shape = _shape(order, sizes)
    small = _shape(order, _where(*case, FORMATS[order]).counts)
    text = Text("Fused_pooling")
    x, gradient = text.input(shape, dtype), text.input(small, dtype)
    twice = text.step("Add", [x, x], shape, dtype)
    told = {"kernel_size": _four(spans, order), "strides": _four(strides, order), "pad_mode": mode, "format": order}  # fmt: skip
    given = [text.constant(list(spans), "int64"), text.constant(list(strides), "int64"), text.constant(["", "SAME", "VALID"].index(mode), "int64"), text.constant([*FORMATS].index(order), "int64")]  # fmt: skip
    most = text.step("MaxPool", [twice], small, dtype, **told)
    middle = text.step("AvgPool", [twice, *given], small, dtype)
    made = [
        text.step("Abs", [most], small, dtype),
        middle,
        text.step("Neg", [text.step("MaxPoolGrad", [twice, most, gradient], shape, dtype, **told)], shape, dtype),
        text.step("AvgPoolGrad", [twice, middle, gradient, *given], shape, dtype),
    ]  # fmt: skip
    random = np.random.default_rng(1)
    # halves, so that there are equals among them
    check(text.kernel(*made), {x: np.rint(2 * random.standard_normal(shape)) / 2, gradient: random.standard_normal(small)})  # fmt: skip


def test_nan_and_infinity_come_through_and_the_first_of_equals_gets_the_gradient() -> None:
    text = Text("Fused_pooled_edges")
    told = {"kernel_size": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "pad_mode": "VALID", "format": "NCHW"}  # fmt: skip
    x, gradient = text.input((1, 1, 2, 8), "float32"), text.input((1, 1, 1, 4), "float32")
    most = text.step("MaxPool", [x], (1, 1, 1, 4), "float32", **told)
    back = text.step("MaxPoolGrad", [x, most, gradient], (1, 1, 2, 8), "float32", **told)
    given = np.float32([[[[1, NAN, -np.inf, -np.inf, 3, 3, 0, 1], [2, 5, -np.inf, -np.inf, 3, 3, 1, 0]]]])  # fmt: skip
    found = run(text.kernel(most, back), {x: given, gradient: np.float32([[[[1, 2, 3, 4]]]])})
    np.testing.assert_array_equal(found[most], np.float32([[[[NAN, -np.inf, 3, 1]]]]))
    np.testing.assert_array_equal(found[back], np.float32([[[[0, 1, 2, 0, 3, 0, 0, 4], [0] * 8]]]))


@pytest.mark.parametrize("axis", [0, -1])
def test_one_hot_rows_of_what_is_no_class_are_off(axis: int) -> None:
    text = Text("Fused_one_hot")
    indices = text.input((6,), "int32")
    shape = (4, 6) if axis == 0 else (6, 4)
    hot = text.step("OneHot", [indices, text.constant(4, "int64"), text.constant(1.0, "float32"), text.constant(0.0, "float32")], shape, "float32", axis=axis)  # fmt: skip
    found = text.step("Add", [hot, hot], shape, "float32")
    check(text.kernel(found), {indices: np.int32([0, 3, 1, -1, 4, 9])})
