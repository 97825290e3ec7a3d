"""Pooling and gradients in groups against float64 formulas, and these against explicit windows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from custom_ops.onednn import why_missing
from ms_fusion.kernel_server.sequence_assembly import has_library_operators
from ms_fusion.lowering.onednn import onednn_steps
from ms_fusion.ops.pooling_formulas import (
    average_pool,
    average_pool_gradient,
    max_pool,
    max_pool_gradient,
)
from ms_fusion.ops.pooling_windows import PoolingWindows, sliding_windows
from tests.cases import cases
from tests.ms_fusion.kernel_server.composites import Text, check, run
from tests.ms_fusion.lowering.onednn.test_groups import check as check_chain

NAN = float("nan")
CASES = (
    ((7, 9), (3, 3), (2, 2), "SAME"),
    ((8, 6), (2, 2), (2, 2), "VALID"),
    ((7, 9), (3, 2), (1, 3), "VALID"),
    ((5, 5), (5, 5), (1, 1), "SAME"),
    ((4, 5), (1, 1), (2, 3), "SAME"),
)
FORMATS = {"NCHW": (2, 3), "NHWC": (1, 2)}


def _where(
    sizes: tuple[int, int],
    spans: tuple[int, int],
    strides: tuple[int, int],
    mode: str,
    axes: tuple[int, int],
) -> PoolingWindows:
    return sliding_windows(axes, sizes, spans, strides, mode)


def _shape(order: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (2, 3, *sizes) if order == "NCHW" else (2, *sizes, 3)


def _four(pair: tuple[int, int], order: str) -> list[int]:
    return [1, 1, *pair] if order == "NCHW" else [1, *pair, 1]


@cases("case", CASES)
def test_formulas_are_what_windows_hold(case: Any) -> None:
    where, random = _where(*case, (0, 1)), np.random.default_rng(0)
    x, gradient = (
        random.permutation(np.prod(case[0])).reshape(case[0]).astype(float),
        random.random(where.counts),
    )
    most, middle = np.zeros(where.counts), np.zeros(where.counts)
    of_most, of_middle = np.zeros(x.shape), np.zeros(x.shape)
    for at in itertools.product(*map(range, where.counts)):
        first = [
            index * step - start
            for index, step, start in zip(at, where.strides, where.starts, strict=True)
        ]
        held = [
            place
            for place in itertools.product(
                *(range(one, one + span) for one, span in zip(first, where.spans, strict=True))
            )
            if all(0 <= item < size for item, size in zip(place, x.shape, strict=True))
        ]
        best = max(held, key=lambda place: x[place])
        most[at], middle[at] = x[best], np.mean([x[place] for place in held])
        of_most[best] += gradient[at]
        for place in held:
            of_middle[place] += gradient[at] / len(held)
    np.testing.assert_array_equal(max_pool(where, x), most)
    np.testing.assert_allclose(average_pool(where, x), middle)
    np.testing.assert_allclose(max_pool_gradient(where, x, gradient), of_most)
    np.testing.assert_allclose(average_pool_gradient(where, x, gradient), of_middle)


BUILT = (CASES[0], "float32", "NCHW")
"""Compiled in `make test`; NumPy runs the graphs of the others."""


@cases("order", FORMATS)
@cases("dtype", ["float32", "float16"])
@cases("case", CASES)
def test_groups_with_pooling(case: Any, dtype: str, order: str, full: bool) -> None:
    sizes, spans, strides, mode = case
    shape = _shape(order, sizes)
    small = _shape(order, _where(*case, FORMATS[order]).counts)
    text = Text("Fused_pooling")
    x, gradient = text.input(shape, dtype), text.input(small, dtype)
    twice = text.step("Add", [x, x], shape, dtype)
    told = {
        "kernel_size": _four(spans, order),
        "strides": _four(strides, order),
        "pad_mode": mode,
        "format": order,
    }
    given = [
        text.constant(list(spans), "int64"),
        text.constant(list(strides), "int64"),
        text.constant(["", "SAME", "VALID"].index(mode), "int64"),
        text.constant([*FORMATS].index(order), "int64"),
    ]
    most = text.step("MaxPool", [twice], small, dtype, **told)
    middle = text.step("AvgPool", [twice, *given], small, dtype)
    made = [
        text.step("Abs", [most], small, dtype),
        middle,
        text.step("AvgPoolGrad", [twice, middle, gradient, *given], shape, dtype),
    ]
    random = np.random.default_rng(1)
    # halves, so that some are equal
    given = {
        x: np.rint(2 * random.standard_normal(shape)) / 2,
        gradient: random.standard_normal(small),
    }
    check(text.kernel(*made), given, built=full or (case, dtype, order) == BUILT)


def _gradient(
    text: Text, sizes: Any, case: Any, dtype: str, order: str = "NCHW"
) -> tuple[str, str, str]:
    """A gradient of max pooling between kernels of ours: (x, gradient of y, result)."""
    _, spans, strides, mode = case
    shape, small = _shape(order, sizes), _shape(order, _where(*case, FORMATS[order]).counts)
    x, gradient = text.input(shape, dtype), text.input(small, dtype)
    told = {
        "kernel_size": _four(spans, order),
        "strides": _four(strides, order),
        "pad_mode": mode,
        "format": order,
    }
    twice = text.step("Add", [x, x], shape, dtype)
    most = text.step("MaxPool", [twice], small, dtype, **told)
    back = text.step("MaxPoolGrad", [twice, most, gradient], shape, dtype, **told)
    return x, gradient, text.step("Neg", [back], shape, dtype)


@cases("dtype", ["float32", "float16", "bfloat16", "float64"])
@cases("case", CASES[:3], sample=2)
def test_gradients_of_max_pooling(case: Any, dtype: str) -> None:
    text = Text(f"Fused_pooling_{dtype}")
    x, gradient, result = _gradient(text, case[0], case, dtype)
    kernel, random = text.kernel(result), np.random.default_rng(1)
    given = {
        x: np.rint(2 * random.standard_normal(kernel.graph.values[x].shape)) / 2,
        gradient: random.standard_normal(kernel.graph.values[gradient].shape),
    }
    steps = (
        check_chain(kernel, given) if has_library_operators(kernel.graph) else check(kernel, given)
    )
    assert steps == (None if dtype == "float64" or why_missing() else ["own", "MaxPoolGrad", "own"])


def test_gradients_of_max_pooling_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn_steps, "why_missing", lambda: "it is not there")
    text = Text("Fused_pooled_alone")
    x, gradient, result = _gradient(text, CASES[0][0], CASES[0], "float32", "NHWC")
    kernel, random = text.kernel(result), np.random.default_rng(1)
    check(
        kernel,
        {name: random.standard_normal(kernel.graph.values[name].shape) for name in (x, gradient)},
    )


def test_nan_and_infinity_come_through() -> None:
    text = Text("Fused_pooled_edges")
    told = {
        "kernel_size": [1, 1, 2, 2],
        "strides": [1, 1, 2, 2],
        "pad_mode": "VALID",
        "format": "NCHW",
    }
    x = text.input((1, 1, 2, 6), "float32")
    most = text.step("MaxPool", [x], (1, 1, 1, 3), "float32", **told)
    given = np.float32([[[[1, NAN, -np.inf, -np.inf, 0, 1], [2, 5, -np.inf, -np.inf, 1, 0]]]])
    found = run(text.kernel(most), {x: given})
    np.testing.assert_array_equal(found[most], np.float32([[[[NAN, -np.inf, 1]]]]))


@cases("axis", [0, -1])
def test_one_hot_rows_of_what_is_no_class_are_off(axis: int) -> None:
    text = Text("Fused_one_hot")
    indices = text.input((6,), "int32")
    shape = (4, 6) if axis == 0 else (6, 4)
    hot = text.step(
        "OneHot",
        [
            indices,
            text.constant(4, "int64"),
            text.constant(1.0, "float32"),
            text.constant(0.0, "float32"),
        ],
        shape,
        "float32",
        axis=axis,
    )
    found = text.step("Add", [hot, hot], shape, "float32")
    check(text.kernel(found), {indices: np.int32([0, 3, 1, -1, 4, 9])})
