"""Computes pooling windows from MindSpore's attributes, over two or three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ms_fusion.graph import Node
from ms_fusion.ops.call import Array, Call
from tbe_impl.errors import InputError

_MODES = {"SAME": "SAME", "VALID": "VALID", "PAD": "PAD", 1: "SAME", 2: "VALID"}
_AXES = {"NCHW": (2, 3), "NHWC": (1, 2), 0: (2, 3), 1: (1, 2), "NCDHW": (2, 3, 4)}


@dataclass(frozen=True)
class PoolingWindows:
    """Windows that slide over the spatial axes.

    Attributes:
        axes: indices of the spatial axes. All attributes below except `divisor` are tuples with one
            entry per spatial axis.
        sizes: extents of x. If `after` is given, the extents may be expressions that are evaluated
            at run time.
        spans: numbers of elements of a window.
        strides: strides of the windows.
        starts: padding before the first element.
        counts: number of windows.
        ends: extent of x plus the padding after x. Empty if the mean of a window does not include
            elements of the padding.
        divisor: number by which the sum of each window is divided. If `divisor` is 0, the sum is
            divided by the number of the window's elements.
        dilations: distances between the elements of a window; empty if all are 1.
        after: padding after the last element; empty if the padding is derived from `counts`.
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    starts: tuple[int, ...]
    counts: tuple[int, ...]
    ends: tuple[int, ...] = ()
    divisor: int = 0
    dilations: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def reaches(self) -> tuple[int, ...]:
        """The extent of a window on each axis, including the gaps between dilated elements."""
        dilations = self.dilations or (1,) * len(self.spans)
        return tuple(
            (span - 1) * apart + 1 for span, apart in zip(self.spans, dilations, strict=True)
        )

    @property
    def counted_ranges(self) -> tuple[tuple[int, int], ...]:
        """For each axis, the half-open range of the indices whose elements a mean includes."""
        if self.ends:
            return tuple((-start, end) for start, end in zip(self.starts, self.ends, strict=True))
        return tuple((0, size) for size in self.sizes)

    @property
    def pads(self) -> tuple[tuple[int, int], ...]:
        """For each axis, the padding (before, after); a negative padding crops x."""
        if self.after:
            return tuple(zip(self.starts, self.after, strict=True))
        every = zip(self.starts, self.counts, self.strides, self.reaches, self.sizes, strict=True)
        return tuple(
            (start, (count - 1) * step + reach - size - start)
            for start, count, step, reach, size in every
        )


def sliding_windows(
    axes: Sequence[int],
    sizes: Sequence[int],
    spans: Sequence[int],
    strides: Sequence[int],
    mode: str,
) -> PoolingWindows:
    """Returns the windows for the padding mode ``SAME`` or ``VALID``.

    ``VALID`` has no padding. ``SAME`` has ⌈size ÷ stride⌉ windows. If the total padding of an axis
    is odd, the padding at the end has one element more than at the start.
    """
    if mode == "VALID":
        counts = [
            (size - span) // step + 1
            for size, span, step in zip(sizes, spans, strides, strict=True)
        ]
        starts = [0] * len(sizes)
    else:
        counts = [-(-size // step) for size, step in zip(sizes, strides, strict=True)]
        starts = [
            max((count - 1) * step + span - size, 0) // 2
            for count, step, span, size in zip(counts, strides, spans, sizes, strict=True)
        ]
    return PoolingWindows(
        tuple(axes), tuple(sizes), tuple(spans), tuple(strides), tuple(starts), tuple(counts)
    )


def windows(
    node: Node, shape: Sequence[Any], pooled: Sequence[Any], given: Sequence[Any] = ()
) -> PoolingWindows:
    """Returns the windows of a pooling operator or its gradient.

    Args:
        node: the operator. If `given` is empty, the attributes of the operator describe the
            windows. If the operator has the attribute `windows`, which `ms_fusion.ops.onnx_windows`
            adds, the result is the value of this attribute.
        shape: shape of the input x.
        pooled: shape of the result y. If the padding is explicit, the number of windows is taken
            from this shape.
        given: (window, strides, padding mode, data format) if the operator has these inputs, as
            AvgPool and its gradient have. Otherwise empty.

    Raises:
        InputError: the padding mode or data format is not supported.
    """
    if isinstance(known := node.attr("windows"), PoolingWindows):
        return known
    spans, strides, mode, order = given or (
        node.attr("kernel_size"),
        node.attr("strides"),
        node.attr("pad_mode"),
        node.attr("format", "NCHW"),
    )
    axes = _AXES.get(order, ())
    if mode not in _MODES or not axes or len(shape) != len(axes) + 2:
        raise InputError(
            "these pooling windows are not supported",
            place=node.op,
            expected="SAME, VALID or PAD; NCHW, NHWC or NCDHW",
            got=f"{mode}, {order}, {list(shape)}",
        )

    def as_integers(numbers: Sequence[Any]) -> tuple[int, ...]:
        each = [numbers[axis] for axis in axes] if len(numbers) == len(shape) else numbers
        return tuple(map(int, each))

    sizes = as_integers(shape)
    if _MODES[mode] == "PAD" or node.op.startswith("AvgPool3D"):
        return _padded_windows(
            node,
            axes,
            sizes,
            as_integers(spans),
            as_integers(strides),
            as_integers(pooled),
            _MODES[mode],
        )
    return sliding_windows(axes, sizes, as_integers(spans), as_integers(strides), _MODES[mode])


def _padded_windows(
    node: Node,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    spans: tuple[int, ...],
    strides: tuple[int, ...],
    counts: tuple[int, ...],
    mode: str,
) -> PoolingWindows:
    """Returns the windows of a pooling with padding mode PAD, or of 3-D average pooling.

    The attribute `pad_list` is explicit padding, with two entries per axis. Without this attribute,
    the padding mode `mode` determines the padding. If the attribute `count_include_pad` is True,
    the mean includes elements of the padding. The attribute `divisor_override` is a fixed divisor
    of the mean.
    """
    found = sliding_windows(axes, sizes, spans, strides, mode)
    listed = [int(one) for one in node.attr("pad_list") or ()] if mode == "PAD" else []
    listed = listed or [one for pair in found.pads for one in pair]
    starts, after = tuple(listed[::2]), listed[1::2]
    ends = tuple(size + max(more, 0) for size, more in zip(sizes, after, strict=True))
    with_padding = bool(node.attr("count_include_pad", False))
    return PoolingWindows(
        axes,
        sizes,
        spans,
        strides,
        starts,
        counts,
        ends if with_padding else (),
        int(node.attr("divisor_override") or 0),
    )


def count_elements(where: PoolingWindows, number: int, index: Any, extremes: Any) -> Any:
    """Returns the number of elements in the mean of a window, along one spatial axis.

    Args:
        where: windows of the pooling.
        number: position of the spatial axis in `where.axes`.
        index: number of the window along this axis; an integer, an array or a DSL expression.
        extremes: functions (minimum, maximum) of two numbers of the type of `index`.
    """
    minimum, maximum = extremes
    first, span = index * where.strides[number] - where.starts[number], where.spans[number]
    low, high = where.counted_ranges[number]
    apart = where.dilations[number] if where.dilations else 1
    if apart == 1:
        return minimum(first + span, high) - maximum(first, low)
    end, begin = ((bound - first + apart - 1) // apart for bound in (high, low))
    return minimum(end, span) - maximum(begin, 0)


def window_arguments(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Converts the NumPy inputs of AvgPool to (window, strides, padding mode, data format)."""
    spans, strides, mode, order = (np.asarray(item).reshape(-1) for item in arguments)
    return tuple(map(int, spans)), tuple(map(int, strides)), int(mode[0]), int(order[0])


def average_pool_windows(call: Call) -> PoolingWindows:
    """Returns the windows of average pooling.

    The inputs are (x, window, strides, padding mode, data format). If x is the only input,
    attributes of the operator have the other values.
    """
    given = window_arguments(call.inputs[1:]) if len(call.inputs) > 1 else ()
    return windows(call.node, call.inputs[0].shape, call.output.shape, given)


def average_pool_gradient_windows(call: Call) -> tuple[PoolingWindows, Array]:
    """Returns (windows, gradient of the result y) for the gradient of average pooling.

    The inputs of the call are (x, y, gradient of y, window, strides, padding mode, data format), or
    (shape of x, gradient of y).
    """
    three = len(call.inputs) > 2
    gradient = call.inputs[2 if three else 1]
    given = window_arguments(call.inputs[3:]) if three else ()
    return windows(call.node, call.output.shape, gradient.shape, given), gradient
