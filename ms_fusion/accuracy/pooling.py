"""What pooling over height and width and its gradients mean: the windows as MindSpore describes them, and in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ms_fusion.graph import Node
from tbe_impl.errors import InputError

Array = np.ndarray
_MODES = {"SAME": "SAME", "VALID": "VALID", 1: "SAME", 2: "VALID"}
_FORMATS = {"NCHW": (2, 3), "NHWC": (1, 2), 0: (2, 3), 1: (1, 2)}


@dataclass(frozen=True)
class Windows:
    """Windows that slide over two axes; what lies in the padding counts for nothing.

    Attributes:
        axes: height and width.
        sizes: of what is pooled, in height and width.
        spans, strides: of the windows.
        mode: ``SAME`` (⌈size ÷ stride⌉ windows, an odd rest of the padding below and right) or ``VALID`` (no padding).
    """

    axes: tuple[int, int]
    sizes: tuple[int, int]
    spans: tuple[int, int]
    strides: tuple[int, int]
    mode: str

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many windows there are."""
        if self.mode == "SAME":
            return tuple(
                -(-size // step) for size, step in zip(self.sizes, self.strides, strict=True)
            )  # type: ignore[return-value]
        return tuple(
            (size - span) // step + 1
            for size, span, step in zip(self.sizes, self.spans, self.strides, strict=True)
        )  # type: ignore[return-value]

    @cached_property
    def starts(self) -> tuple[int, int]:
        """How far the first window reaches beyond the edge."""
        if self.mode == "VALID":
            return 0, 0
        lacking = (max((count - 1) * step + span - size, 0) for count, step, span, size in zip(self.counts, self.strides, self.spans, self.sizes, strict=True))  # fmt: skip
        return tuple(item // 2 for item in lacking)  # type: ignore[return-value]


def windows(node: Node, shape: Sequence[Any], given: Sequence[Any] = ()) -> Windows:
    """The windows of a pooling operator, or of its gradient.

    Args:
        node: MaxPool and its gradient have attributes of four numbers.
        shape: of what is pooled.
        given: what AvgPool and its gradient have as inputs: window, strides, kind of padding, order of the axes.

    Raises:
        InputError: another kind of padding or order of axes.
    """
    spans, strides, mode, order = given or (
        node.attr("kernel_size"), node.attr("strides"), node.attr("pad_mode"), node.attr("format", "NCHW")
    )  # fmt: skip
    if mode not in _MODES or order not in _FORMATS or len(shape) != 4:
        raise InputError("these windows are not built", place=node.op, expected="SAME or VALID, NCHW or NHWC", got=f"{mode}, {order}, {list(shape)}")  # fmt: skip
    axes = _FORMATS[order]
    picked = (lambda four: (int(four[axes[0]]), int(four[axes[1]]))) if len(spans) == 4 else (lambda two: (int(two[0]), int(two[1])))  # fmt: skip
    return Windows(axes, (int(shape[axes[0]]), int(shape[axes[1]])), picked(spans), picked(strides), _MODES[mode])  # fmt: skip


def given_windows(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Window, strides, kind of padding and order of axes from inputs of AvgPool, which are arrays of NumPy."""
    spans, strides, mode, order = (np.asarray(item).reshape(-1) for item in arguments)
    return tuple(map(int, spans)), tuple(map(int, strides)), int(mode[0]), int(order[0])


def _parts(where: Windows, x: Array, filler: Any) -> Iterator[tuple[tuple[Any, ...], Array]]:
    """For each element of the windows its place in x with the padding around, and its values in all windows."""
    padded, _ = _padded(where, x, filler)
    for row in range(where.spans[0]):
        for column in range(where.spans[1]):
            at: list[Any] = [slice(None)] * x.ndim
            for axis, first, step, count in zip(where.axes, (row, column), where.strides, where.counts, strict=True):  # fmt: skip
                at[axis] = slice(first, first + (count - 1) * step + 1, step)
            yield tuple(at), padded[tuple(at)]


def _padded(where: Windows, x: Array, filler: Any) -> tuple[Array, tuple[Any, ...]]:
    """x with the padding around, and the place of x in it."""
    shape, inner = list(x.shape), [slice(None)] * x.ndim
    for axis, size, before, count, step, span in zip(where.axes, where.sizes, where.starts, where.counts, where.strides, where.spans, strict=True):  # fmt: skip
        shape[axis] = max((count - 1) * step + span, before + size)
        inner[axis] = slice(before, before + size)
    padded = np.full(shape, filler, x.dtype)
    padded[tuple(inner)] = x
    return padded, tuple(inner)


def largest(where: Windows, x: Array) -> Array:
    """The largest element of every window; NaN where there is one."""
    parts = [part for _, part in _parts(where, x, -np.inf)]
    return np.asarray(np.maximum.reduce(parts))


def gradient_of_largest(where: Windows, x: Array, gradient: Array) -> Array:
    """To the first of the largest elements of each window, or to its first NaN."""
    total, inner = _padded(where, np.zeros_like(x), 0)
    level, free = largest(where, x), np.ones(gradient.shape, bool)
    for at, part in _parts(where, x, -np.inf):
        inside = _parts_inside(where, x, at)
        hit = free & inside & ((part == level) | np.isnan(part))
        total[at] += np.where(hit, gradient, 0)
        free &= ~hit
    return total[inner]


def _parts_inside(where: Windows, x: Array, at: tuple[Any, ...]) -> Array:
    inside, inner = _padded(where, np.zeros(x.shape, bool), False)
    inside[inner] = True
    return inside[at]


def mean(where: Windows, x: Array) -> Array:
    """The mean of what each window has of x."""
    return np.asarray(sum(part for _, part in _parts(where, x, 0)) / _held(where, x))


def gradient_of_mean(where: Windows, x: Array, gradient: Array) -> Array:
    """Each window's gradient, shared by what it has of x."""
    total, inner = _padded(where, np.zeros_like(x), 0)
    share = gradient / _held(where, x)
    for at, _ in _parts(where, x, 0):
        total[at] += share
    return total[inner]


def _held(where: Windows, x: Array) -> Array:
    """How many elements of x each window has."""
    return np.asarray(sum(part for _, part in _parts(where, np.ones_like(x), 0)))
