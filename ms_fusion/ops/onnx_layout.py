"""Rewrites ONNX operators that move or repeat elements into MindSpore's operators."""

from __future__ import annotations

import math
from collections.abc import Callable

from ms_fusion.ops.call import Call, static_result_shape
from ms_fusion.ops.late_imports import np
from tbe_impl.errors import InputError

UNBOUNDED = 2**62
"""A slice in ONNX whose end is at least this number ends at the end of the axis."""


def view(
    sizes_of: Callable[[Call, tuple[int, ...]], tuple[int, ...] | None],
) -> Callable[[Call], Call]:
    """Returns a function that rewrites an ONNX operator as a Reshape or BroadcastTo.

    Args:
        sizes_of: function of the `Call` and the sizes of its first operand. The function returns
            the sizes of the result; one size may be −1. The function computes these sizes from the
            operator's attributes and constant inputs. It returns None if they do not determine the
            sizes. The result shape that the graph declares is then used. Declared shapes are only
            the second choice, because a file may declare wrong shapes.
    """

    def adapter(call: Call) -> Call:
        own = tuple(call.inputs[0].shape)
        known = sizes_of(call, own) if all(isinstance(size, int) for size in own) else None
        sizes = known or tuple(static_result_shape(call))
        unknown = sum(size is None for size in sizes)
        if unknown == 1 and call.node.op != "BroadcastTo":
            sizes = tuple(-1 if size is None else size for size in sizes)
        elif unknown:
            raise InputError("a size that no input of the kernel has", place=call.node.name)
        return call.in_form(inputs=call.inputs[:1], sizes=sizes)

    return adapter


def flat_sizes(call: Call, own: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the sizes of the result of Flatten."""
    axis = int(call.attribute("axis"))
    return math.prod(own[:axis]), math.prod(own[axis:])


def squeezed_sizes(call: Call, own: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the sizes of the result of Squeeze."""
    axes = {axis % len(own) for axis in call.integers("axes", 1) or ()}
    return tuple(size for axis, size in enumerate(own) if (axis not in axes if axes else size != 1))


def unsqueezed_sizes(call: Call, own: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the sizes of the result of Unsqueeze."""
    told = call.integers("axes", 1) or ()
    rank, rest = len(own) + len(told), iter(own)
    axes = {axis % rank for axis in told}
    return tuple(1 if axis in axes else next(rest) for axis in range(rank))


def reshaped_sizes(call: Call, own: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the sizes of the result of Reshape, or None if they are computed at run time."""
    told = call.integers("shape", 1)
    return told and tuple(
        own[axis] if size == 0 and not call.flag("allowzero") else size
        for axis, size in enumerate(told)
    )


def expanded_sizes(call: Call, own: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the sizes of the result of Expand, or None if they are computed at run time."""
    told = call.integers("shape", 1)
    return told and np.broadcast_shapes(own, told)


def identity(call: Call) -> Call:
    """Rewrites Identity as a Reshape to the same sizes."""
    return call.in_form(sizes=tuple(call.inputs[0].shape))


def strided_slice(call: Call) -> Call:
    """Rewrites Slice of (x, starts, ends, axes, steps) as a StridedSlice over all axes."""
    x = call.inputs[0]
    starts, ends = call.integers("starts", 1) or (), call.integers("ends", 2) or ()
    axes = call.integers("axes", 3) or tuple(range(len(starts)))
    steps = call.integers("steps", 4) or (1,) * len(starts)
    begin, end, strides = [0] * x.ndim, [0] * x.ndim, [1] * x.ndim
    begin_mask = end_mask = (1 << x.ndim) - 1
    for first, last, axis, step in zip(starts, ends, axes, steps, strict=True):
        place, is_whole = axis % x.ndim, last >= UNBOUNDED
        if step < 0:
            raise InputError("a slice with a negative step is not lowered", place=call.node.name)
        if not isinstance(x.shape[place], int) and not (first == 0 and is_whole):
            raise InputError("a slice of an unknown size is not lowered", place=call.node.name)
        begin[place], end[place], strides[place] = first, last, step
        begin_mask &= ~((first != 0) << place)
        end_mask &= ~((not is_whole) << place)
    return call.in_form(
        op="StridedSlice",
        inputs=(x,),
        begin=tuple(begin),
        end=tuple(end),
        strides=tuple(strides),
        begin_mask=begin_mask,
        end_mask=end_mask,
    )


def split(call: Call) -> Call:
    """Rewrites Split of (x, sizes of the parts); without sizes, all parts have equal size."""
    x, count = call.inputs[0], len(call.node.outputs)
    axis = int(call.attribute("axis")) % max(x.ndim, 1)
    size = x.shape[axis]
    if not isinstance(size, int):
        raise InputError("a split of an unknown size is not lowered", place=call.node.name)
    each = math.ceil(size / count)
    parts = call.integers("split", 1) or (*(each,) * (count - 1), size - each * (count - 1))
    return call.in_form(inputs=(x,), axis=axis, size_splits=parts)


def pad(call: Call) -> Call:
    """Rewrites Pad of (x, pads, value, axes).

    `pads` lists the paddings before each axis, then the paddings after each axis.
    """
    x, value = call.inputs[0], call.optional_input(2)
    pads, axes = call.integers("pads", 1) or (), call.integers("axes", 3)
    if call.node.attr("mode", "constant") != "constant" or min(pads, default=0) < 0:
        raise InputError("only a constant padding value is supported", place=call.node.name)
    if value is not None and not isinstance(value, np.ndarray):
        raise InputError("the padding value is computed while the model runs", place=call.node.name)
    widths = [(0, 0)] * x.ndim
    for place, axis in enumerate(axes or range(x.ndim)):
        widths[axis % x.ndim] = (pads[place], pads[place + len(pads) // 2])
    told = {} if value is None else {"value": value.reshape(-1)[0]}
    return call.in_form(inputs=(x,), paddings=tuple(widths), **told)
