"""The windows of pooling, as MindSpore describes them: over height and width, or depth, height and width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ms_fusion.graph import Node
from tbe_impl.errors import InputError

_MODES = {"SAME": "SAME", "VALID": "VALID", "PAD": "PAD", 1: "SAME", 2: "VALID"}
_AXES = {"NCHW": (2, 3), "NHWC": (1, 2), 0: (2, 3), 1: (1, 2), "NCDHW": (2, 3, 4)}


@dataclass(frozen=True)
class Windows:
    """Windows that slide over some axes.

    Attributes:
        axes: on which they slide.
        sizes: of what is pooled, on each of them.
        spans, strides: of the windows.
        starts: how far the first window reaches beyond the edge.
        counts: how many windows there are.
        ends: how far sizes and padding reach, for means that count the padding; empty for those that do not.
        divisor: of a mean, whatever a window has; 0 where that counts.
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    starts: tuple[int, ...]
    counts: tuple[int, ...]
    ends: tuple[int, ...] = ()
    divisor: int = 0

    @property
    def counted(self) -> tuple[tuple[int, int], ...]:
        """On each axis, from where to where elements count for a mean."""
        if self.ends:
            return tuple((-start, end) for start, end in zip(self.starts, self.ends, strict=True))
        return tuple((0, size) for size in self.sizes)

    @property
    def pads(self) -> tuple[tuple[int, int], ...]:
        """Before and after each axis, so that there are as many windows as there are; numbers below 0 cut off."""
        every = zip(self.starts, self.counts, self.strides, self.spans, self.sizes, strict=True)
        return tuple(
            (start, (count - 1) * step + span - size - start)
            for start, count, step, span, size in every
        )


def slid(
    axes: Sequence[int],
    sizes: Sequence[int],
    spans: Sequence[int],
    strides: Sequence[int],
    mode: str,
) -> Windows:
    """Windows under ``SAME`` (⌈size ÷ stride⌉ of them, an odd rest of the padding behind) or ``VALID`` (no padding)."""
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
    return Windows(
        tuple(axes), tuple(sizes), tuple(spans), tuple(strides), tuple(starts), tuple(counts)
    )


def windows(
    node: Node, shape: Sequence[Any], pooled: Sequence[Any], given: Sequence[Any] = ()
) -> Windows:
    """The windows of a pooling operator, or of its gradient.

    Args:
        node: all but AvgPool and its gradient have attributes, of one number for each axis.
        shape: of what is pooled.
        pooled: of what comes out; where the padding is listed, it says how many windows there are.
        given: what AvgPool and its gradient have as inputs: window, strides, kind of padding, order of the axes.

    Raises:
        InputError: another kind of padding or order of axes.
    """
    spans, strides, mode, order = given or (
        node.attr("kernel_size"),
        node.attr("strides"),
        node.attr("pad_mode"),
        node.attr("format", "NCHW"),
    )
    axes = _AXES.get(order, ())
    if mode not in _MODES or not axes or len(shape) != len(axes) + 2:
        raise InputError(
            "these windows are not built",
            place=node.op,
            expected="SAME, VALID or PAD; NCHW, NHWC or NCDHW",
            got=f"{mode}, {order}, {list(shape)}",
        )

    def picked(numbers: Sequence[Any]) -> tuple[int, ...]:
        each = [numbers[axis] for axis in axes] if len(numbers) == len(shape) else numbers
        return tuple(map(int, each))

    sizes = picked(shape)
    if _MODES[mode] == "PAD" or node.op.startswith("AvgPool3D"):
        return _padded(
            node, axes, sizes, picked(spans), picked(strides), picked(pooled), _MODES[mode]
        )
    return slid(axes, sizes, picked(spans), picked(strides), _MODES[mode])


def _padded(
    node: Node,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    spans: tuple[int, ...],
    strides: tuple[int, ...],
    counts: tuple[int, ...],
    mode: str,
) -> Windows:
    """Windows whose padding is listed, two numbers for each axis; a mean counts it or has a divisor, as it is told."""
    found = slid(axes, sizes, spans, strides, mode)
    listed = [int(one) for one in node.attr("pad_list") or ()] if mode == "PAD" else []
    listed = listed or [one for pair in found.pads for one in pair]
    starts, after = tuple(listed[::2]), listed[1::2]
    ends = tuple(size + max(more, 0) for size, more in zip(sizes, after, strict=True))
    with_padding = bool(node.attr("count_include_pad", False))
    return Windows(
        axes,
        sizes,
        spans,
        strides,
        starts,
        counts,
        ends if with_padding else (),
        int(node.attr("divisor_override") or 0),
    )


def given_windows(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Window, strides, kind of padding and order of axes from inputs of AvgPool, which are arrays of NumPy."""
    spans, strides, mode, order = (np.asarray(item).reshape(-1) for item in arguments)
    return tuple(map(int, spans)), tuple(map(int, strides)), int(mode[0]), int(order[0])
