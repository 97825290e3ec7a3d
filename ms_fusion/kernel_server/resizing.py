"""Lowers operators that resize images, with integer index arithmetic only."""

from __future__ import annotations

from typing import Any

from ms_fusion.accuracy.formulas import Call
from ms_fusion.accuracy.resizing import Sizes, nearest_places, nearest_sizes, sizes
from ms_fusion.kernel_server.window_sums import both, divided, wide
from tbe_impl.dsl.expr import Expr, IterVar, Range, Reduce
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name
from tbe_impl.errors import InputError
from tbe_impl.tracing.arrays import Traced, tensor_of


def share_means(call: Call) -> Traced:
    """(x): the mean of each of even shares in height and width."""
    x = wide(tensor_of(call.inputs[0]))
    how = sizes(call.node, call.inputs[0].shape, call.output.shape)
    # a share that does not begin with an element of its own has one more
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
            first, end = _share(how, number, index[axis])
            at[axis] = first + over[number]
            holds = both(holds, at[axis] < end)
        return Reduce("sum", x(*at), over, holds)

    total = compute(call.output.shape, body, fresh_name("shares"))
    return Traced(_divided(how, total))


def gradient_of_share_means(call: Call) -> Traced:
    """(gradient of y, shape of x)."""
    gradient = wide(tensor_of(call.inputs[0]))
    how = sizes(call.node, call.output.shape, call.inputs[0].shape)
    part = _divided(how, gradient)
    over = [
        IterVar(Range(-(-count // size) + 1), f"s{axis}", "reduce")
        for axis, size, count in zip(how.axes, how.large, how.small, strict=True)
    ]

    def body(*index: Expr) -> Any:
        at, holds = list(index), None
        for number, axis in enumerate(how.axes):
            size, count = how.large[number], how.small[number]
            at[axis] = index[axis] * count // size + over[number]
            holds = both(holds, at[axis] * size < (index[axis] + 1) * count)
        return Reduce("sum", part(*at), over, holds)

    return Traced(compute(call.output.shape, body, fresh_name("collected")))


def nearest(call: Call) -> Traced:
    """(x, size, aligned, from the middle): each element repeated, or left out."""
    x = tensor_of(call.inputs[0])
    how = _whole(nearest_sizes(call, call.inputs[0].shape, call.output.shape), call)

    def body(*index: Expr) -> Any:
        at = list(index)
        for number, axis in enumerate(how.axes):
            at[axis] = index[axis] * how.large[number] // how.small[number]
        return x(*at)

    return Traced(compute(call.output.shape, body, fresh_name("nearest")))


def gradient_of_nearest(call: Call) -> Traced:
    """(gradient of y, size, aligned, from the middle): the sum of the gradients of all that took an element."""
    gradient = wide(tensor_of(call.inputs[0]))
    how = _whole(nearest_sizes(call, call.output.shape, call.inputs[0].shape), call)
    over = [
        IterVar(Range(-(-count // size)), f"n{axis}", "reduce")
        for axis, size, count in zip(how.axes, how.large, how.small, strict=True)
    ]

    def body(*index: Expr) -> Any:
        at, holds = list(index), None
        for number, axis in enumerate(how.axes):
            size, count = how.large[number], how.small[number]
            at[axis] = (index[axis] * count + size - 1) // size + over[number]
            # where each element is taken by as many, nothing has to be asked
            if count % size:
                holds = both(holds, at[axis] * size < (index[axis] + 1) * count)
        return Reduce("sum", gradient(*at), over, holds)

    return Traced(compute(call.output.shape, body, fresh_name("collected")))


def _whole(how: Sizes, call: Call) -> Sizes:
    """The same, where MindSpore's float32 gives the places that whole numbers do."""
    for size, count in zip(how.large, how.small, strict=True):
        if any(place != at * size // count for at, place in enumerate(nearest_places(size, count))):
            raise InputError(
                "the nearest elements are a matter of rounding",
                place=call.node.op,
                got=f"{size} to {count}",
            )
    return how


def _share(how: Sizes, number: int, at: Any) -> tuple[Any, Any]:
    size, count = how.large[number], how.small[number]
    return at * size // count, ((at + 1) * size + count - 1) // count


def _divided(how: Sizes, given: Tensor) -> Tensor:
    """A number for each share, by how many elements it has."""

    def held(*index: Expr) -> Any:
        elements: Any = 1
        for number, axis in enumerate(how.axes):
            first, end = _share(how, number, index[axis])
            elements = (end - first) * elements
        return elements

    return divided(given, held)
