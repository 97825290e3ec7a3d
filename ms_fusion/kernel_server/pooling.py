"""Lowers pooling and its gradients: each element reads the windows that contain it."""

from __future__ import annotations

from typing import Any

from ms_fusion.accuracy.formulas import Call, is_float, of_average, of_average_gradient
from ms_fusion.accuracy.windows import Windows, windows
from ms_fusion.kernel_server.window_sums import both, divided, wide
from tbe_impl import dsl
from tbe_impl.dsl.expr import Expr, IterVar, Range, Reduce, binary
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name
from tbe_impl.tracing.arrays import Traced, tensor_of


def max_pool(call: Call) -> Traced:
    """(x)."""
    x = tensor_of(call.inputs[0])
    return Traced(_slid(x, windows(call.node, call.inputs[0].shape, call.output.shape), "MAX"))


def max_pool_gradient(call: Call) -> Traced:
    """(x, y, gradient of y): to the first of the largest elements of each window."""
    x, _, gradient = (tensor_of(item) for item in call.inputs)
    where = windows(call.node, call.inputs[0].shape, call.inputs[1].shape)
    _, positions = _slid(x, where, "MAX", return_argmax=True)
    return Traced(_collected(where, gradient, x.shape, positions))


def average_pool(call: Call) -> Traced:
    """(x), and for AvgPool (window, strides, kind of padding, order of axes)."""
    x = wide(tensor_of(call.inputs[0]))
    where = of_average(call)
    return Traced(_shared(where, _slid(x, where, "SUM")))


def average_pool_gradient(call: Call) -> Traced:
    """(x, y, gradient of y, window, strides, kind of padding, order of axes), or (shape of x, gradient of y)."""
    where, gradient = of_average_gradient(call)
    return Traced(_collected(where, _shared(where, wide(tensor_of(gradient))), call.output.shape))


def _slid(x: Tensor, where: Windows, kind: str, **more: Any) -> Any:
    return dsl.reduce_window(
        x,
        kind,
        where.axes,
        where.spans,
        where.strides,
        padding_mode="CALCULATED",
        padding_dimensions=where.pads,
        **more,
    )


def _shared(where: Windows, given: Tensor) -> Tensor:
    """A number for each window, by how many elements it has inside, or as it is told."""

    def held(*index: Expr) -> Any:
        count: Any = where.divisor or 1
        for number, axis in enumerate(where.axes if not where.divisor else ()):
            first, (low, high) = (
                index[axis] * where.strides[number] - where.starts[number],
                where.counted[number],
            )
            count = (
                binary("min", first + where.spans[number], high) - binary("max", first, low)
            ) * count
        return count

    assert is_float(given.dtype)
    return divided(given, held)


def _collected(
    where: Windows, gradient: Tensor, shape: Any, positions: Tensor | None = None
) -> Tensor:
    """The sum of the gradients of all windows that an element lies in, or of those whose position is its own."""
    over = [
        IterVar(Range(-(-span // step)), f"o{axis}", "reduce")
        for axis, span, step in zip(where.axes, where.spans, where.strides, strict=True)
    ]
    given = wide(gradient)

    def body(*index: Expr) -> Any:
        at, holds, flat = list(index), None, None
        for number, axis in enumerate(where.axes):
            place = index[axis] + where.starts[number]
            window = place // where.strides[number] - over[number]
            at[axis] = window
            inside = place - window * where.strides[number] < where.spans[number]
            for one in (window >= 0, window < where.counts[number], inside):
                holds = both(holds, one)
            flat = index[axis] if flat is None else flat * where.sizes[number] + index[axis]
        if positions is not None:
            holds = both(holds, binary("eq", positions(*at), dsl.cast("int32", flat)))
        return Reduce("sum", given(*at), over, holds)

    return compute(shape, body, fresh_name("collected"))
