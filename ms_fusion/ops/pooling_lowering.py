"""Lowers pooling and its gradients to the DSL.

Each element of a gradient is computed as a sum over the windows that contain the element.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ms_fusion.ops.call import Call, is_float
from ms_fusion.ops.pooling_windows import (
    PoolingWindows,
    average_pool_gradient_windows,
    average_pool_windows,
    count_elements,
    windows,
)
from ms_fusion.ops.window_sums import conjunction, divide_by_count, widen
from tbe_impl import dsl
from tbe_impl.dsl.expr import Expr, IterVar, Range, Reduce, make_binary
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name
from tbe_impl.tracing.arrays import TracedArray, tensor_of

EXTREMES = partial(make_binary, "min"), partial(make_binary, "max")


def max_pool(call: Call) -> TracedArray:
    """Lowers max-pooling of the operand x."""
    x = tensor_of(call.inputs[0])
    return TracedArray(
        _reduce_windows(x, windows(call.node, call.inputs[0].shape, call.output.shape), "MAX")
    )


def max_pool_gradient(call: Call) -> TracedArray:
    """Lowers the gradient of max-pooling; the operands are (x, y, gradient of y).

    The gradient of a window is added to the window's first maximum.
    """
    x, _, gradient = (tensor_of(item) for item in call.inputs)
    where = windows(call.node, call.inputs[0].shape, call.inputs[1].shape)
    _, positions = _reduce_windows(x, where, "MAX", return_argmax=True)
    return TracedArray(_sum_window_gradients(where, gradient, x.shape, positions))


def average_pool(call: Call) -> TracedArray:
    """Lowers average pooling of the first operand, x.

    The further operands of AvgPool are window, strides, padding mode and data format.
    """
    x = widen(tensor_of(call.inputs[0]))
    where = average_pool_windows(call)
    return TracedArray(_divide_by_window_size(where, _reduce_windows(x, where, "SUM")))


def average_pool_gradient(call: Call) -> TracedArray:
    """Lowers the gradient of average pooling.

    The operands are either (x, y, gradient of y, window, strides, padding mode, data format) or
    (shape of x, gradient of y).
    """
    where, gradient = average_pool_gradient_windows(call)
    return TracedArray(
        _sum_window_gradients(
            where, _divide_by_window_size(where, widen(tensor_of(gradient))), call.output.shape
        )
    )


def _reduce_windows(x: Tensor, where: PoolingWindows, kind: str, **more: Any) -> Any:
    return dsl.reduce_window(
        x,
        kind,
        where.axes,
        where.spans,
        where.strides,
        where.dilations or None,
        padding_mode="CALCULATED",
        padding_dimensions=where.pads,
        **more,
    )


def _divide_by_window_size(where: PoolingWindows, given: Tensor) -> Tensor:
    """Divides each window's value by the number of its valid elements, or by a fixed divisor."""

    def in_window_dtype(*index: Expr) -> Any:
        count: Any = where.divisor or 1
        for number, axis in enumerate(where.axes if not where.divisor else ()):
            count = count_elements(where, number, index[axis], EXTREMES) * count
        return count

    assert is_float(given.dtype)
    return divide_by_count(given, in_window_dtype)


def _sum_window_gradients(
    where: PoolingWindows, gradient: Tensor, shape: Any, positions: Tensor | None = None
) -> Tensor:
    """Sums for each element the gradients of all windows that contain the element.

    If `positions` is given, the gradient of a window is added only to the element that is the
    window's argmax.
    """
    over = [
        IterVar(Range(-(-span // step)), f"o{axis}", "reduce")
        for axis, span, step in zip(where.axes, where.spans, where.strides, strict=True)
    ]
    given = widen(gradient)

    def body(*index: Expr) -> Any:
        at, holds, flat = list(index), None, None
        for number, axis in enumerate(where.axes):
            place = index[axis] + where.starts[number]
            window = place // where.strides[number] - over[number]
            at[axis] = window
            inside = place - window * where.strides[number] < where.spans[number]
            for one in (window >= 0, window < where.counts[number], inside):
                holds = conjunction(holds, one)
            flat = index[axis] if flat is None else flat * where.sizes[number] + index[axis]
        if positions is not None:
            holds = conjunction(holds, make_binary("eq", positions(*at), dsl.cast("int32", flat)))
        return Reduce("sum", given(*at), over, holds)

    return compute(shape, body, fresh_name("collected"))
