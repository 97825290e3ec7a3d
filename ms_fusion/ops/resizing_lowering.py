"""Lowers image-resizing operators to the DSL; all index arithmetic is on integers."""

from __future__ import annotations

from typing import Any

from ms_fusion.ops.call import Call
from ms_fusion.ops.resizing_formulas import (
    ResizeSizes,
    nearest_indices,
    nearest_resize_sizes,
    resize_sizes,
)
from ms_fusion.ops.window_sums import conjunction, divide_by_count, widen
from tbe_impl.dsl.expr import Expr, IterVar, Range, Reduce
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name
from tbe_impl.errors import InputError
from tbe_impl.tracing.arrays import TracedArray, tensor_of


def adaptive_average_pool(call: Call) -> TracedArray:
    """Lowers adaptive average pooling of x: the mean of each window in height and width."""
    x = widen(tensor_of(call.inputs[0]))
    how = resize_sizes(call.node, call.inputs[0].shape, call.output.shape)
    # If the size of x is no multiple of the result's size, a window may begin and end inside an
    # element of x. It then covers up to two elements more.
    spans = [
        size // count + (2 if size % count else 0)
        for size, count in zip(how.large, how.small, strict=True)
    ]
    over = [
        IterVar(Range(span), f"s{axis}", "reduce")
        for axis, span in zip(how.axes, spans, strict=True)
    ]

    def body(*index: Expr) -> Any:
        at, holds = list(index), None
        for number, axis in enumerate(how.axes):
            first, end = _window_bounds(how, number, index[axis])
            at[axis] = first + over[number]
            holds = conjunction(holds, at[axis] < end)
        return Reduce("sum", x(*at), over, holds)

    total = compute(call.output.shape, body, fresh_name("shares"))
    return TracedArray(_divide_by_window_size(how, total))


def adaptive_average_pool_gradient(call: Call) -> TracedArray:
    """Lowers the gradient of adaptive average pooling.

    The operands are (gradient of y, shape of x).
    """
    gradient = widen(tensor_of(call.inputs[0]))
    how = resize_sizes(call.node, call.output.shape, call.inputs[0].shape)
    part = _divide_by_window_size(how, gradient)
    over = [
        IterVar(Range(-(-count // size) + 1), f"s{axis}", "reduce")
        for axis, size, count in zip(how.axes, how.large, how.small, strict=True)
    ]

    def body(*index: Expr) -> Any:
        at, holds = list(index), None
        for number, axis in enumerate(how.axes):
            size, count = how.large[number], how.small[number]
            at[axis] = index[axis] * count // size + over[number]
            holds = conjunction(holds, at[axis] * size < (index[axis] + 1) * count)
        return Reduce("sum", part(*at), over, holds)

    return TracedArray(compute(call.output.shape, body, fresh_name("collected")))


def resize_nearest(call: Call) -> TracedArray:
    """Lowers nearest-neighbour resizing, which repeats or skips elements of x.

    The operands are (x, size, align_corners, half_pixel_centers).
    """
    x = tensor_of(call.inputs[0])
    how = _check_integer_indices(
        nearest_resize_sizes(call, call.inputs[0].shape, call.output.shape), call
    )

    def body(*index: Expr) -> Any:
        at = list(index)
        for number, axis in enumerate(how.axes):
            at[axis] = index[axis] * how.large[number] // how.small[number]
        return x(*at)

    return TracedArray(compute(call.output.shape, body, fresh_name("nearest")))


def resize_nearest_gradient(call: Call) -> TracedArray:
    """Lowers the gradient of nearest-neighbour resizing.

    The operands are (gradient of y, size, align_corners, half_pixel_centers). The gradients of all
    copies of an element are summed.
    """
    gradient = widen(tensor_of(call.inputs[0]))
    how = _check_integer_indices(
        nearest_resize_sizes(call, call.output.shape, call.inputs[0].shape), call
    )
    over = [
        IterVar(Range(-(-count // size)), f"n{axis}", "reduce")
        for axis, size, count in zip(how.axes, how.large, how.small, strict=True)
    ]

    def body(*index: Expr) -> Any:
        at, holds = list(index), None
        for number, axis in enumerate(how.axes):
            size, count = how.large[number], how.small[number]
            at[axis] = (index[axis] * count + size - 1) // size + over[number]
            # With an integer scale every element has the same number of copies. Then the sum needs
            # no condition.
            if count % size:
                holds = conjunction(holds, at[axis] * size < (index[axis] + 1) * count)
        return Reduce("sum", gradient(*at), over, holds)

    return TracedArray(compute(call.output.shape, body, fresh_name("collected")))


def _check_integer_indices(how: ResizeSizes, call: Call) -> ResizeSizes:
    """Returns `how`; raises `InputError` if MindSpore and the DSL would select different elements.

    MindSpore computes the index of the nearest element in float32, but the DSL computes this index
    in integers. Because of rounding, the two indices may differ.
    """
    for size, count in zip(how.large, how.small, strict=True):
        if any(
            place != at * size // count for at, place in enumerate(nearest_indices(size, count))
        ):
            raise InputError(
                "the nearest elements are a matter of rounding",
                place=call.node.op,
                got=f"{size} to {count}",
            )
    return how


def _window_bounds(how: ResizeSizes, number: int, at: Any) -> tuple[Any, Any]:
    size, count = how.large[number], how.small[number]
    return at * size // count, ((at + 1) * size + count - 1) // count


def _divide_by_window_size(how: ResizeSizes, given: Tensor) -> Tensor:
    """Divides the value of each window by the window's number of elements."""

    def in_window_dtype(*index: Expr) -> Any:
        elements: Any = 1
        for number, axis in enumerate(how.axes):
            first, end = _window_bounds(how, number, index[axis])
            elements = (end - first) * elements
        return elements

    return divide_by_count(given, in_window_dtype)
