"""Computes resizing operators in NumPy: adaptive average pooling and nearest neighbour.

Adaptive average pooling divides `size` elements into `count` windows. Window i is the half-open
range [⌊i · size ÷ count⌋, ⌈(i + 1) · size ÷ count⌉).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ms_fusion.graph import Node
from tbe_impl.errors import InputError

Array = np.ndarray


@dataclass(frozen=True)
class ResizeSizes:
    """Extents of an image before and after resizing.

    Attributes:
        axes: indices of the axes height and width.
        large: extents of the forward operator's input on these axes.
        small: extents of the forward operator's result on these axes.
    """

    axes: tuple[int, ...]
    large: tuple[int, ...]
    small: tuple[int, ...]


def resize_sizes(node: Node, source: Sequence[Any], result: Sequence[Any]) -> ResizeSizes:
    """Returns the heights and widths in the shapes `source` and `result` of a forward operator.

    Raises:
        InputError: a shape does not have four axes.
    """
    if len(source) != 4 or len(result) != 4:
        raise InputError(
            "only images of four axes can be resized",
            place=node.op,
            expected="4 axes",
            got=f"{list(source)}, {list(result)}",
        )
    axes = (1, 2) if node.attr("format", "NCHW") == "NHWC" else (2, 3)
    return ResizeSizes(
        axes, *(tuple(int(shape[axis]) for axis in axes) for shape in (source, result))
    )


def nearest_resize_sizes(call: Any, source: Sequence[Any], result: Sequence[Any]) -> ResizeSizes:
    """Returns the result of `resize_sizes` for the `Call` of a nearest-neighbour operator.

    Raises:
        InputError: `align_corners` or `half_pixel_centers` is set, or a shape does not have four
            axes.
    """
    if call.flag("align_corners", 2) or call.flag("half_pixel_centers", 3):
        raise InputError(
            "the nearest element of aligned images is not computed", place=call.node.op
        )
    return resize_sizes(call.node, source, result)


def adaptive_window_bounds(size: int, count: int) -> list[tuple[int, int]]:
    """Returns (start, end) of each of `count` adaptive windows over `size` elements."""
    return [(at * size // count, -(-(at + 1) * size // count)) for at in range(count)]


def adaptive_average_pool(how: ResizeSizes, x: Array) -> Array:
    """Returns the mean of each adaptive window in height and width."""
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        parts = [
            np.take(x, range(first, end), axis).mean(axis)
            for first, end in adaptive_window_bounds(size, count)
        ]
        x = np.stack(parts, axis)
    return x


def adaptive_average_pool_gradient(how: ResizeSizes, gradient: Array) -> Array:
    """Returns the gradient of adaptive average pooling.

    Each window distributes its gradient evenly over its elements.
    """
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        matrix = np.zeros((size, count))
        for at, (first, end) in enumerate(adaptive_window_bounds(size, count)):
            matrix[first:end, at] = 1 / (end - first)
        gradient = np.moveaxis(np.tensordot(matrix, gradient, (1, axis)), 0, axis)
    return gradient


def nearest_indices(size: int, count: int) -> Array:
    """Returns the source index of each result: ⌊i · size ÷ count⌋ for i in 0 … count − 1.

    The index is computed in float32, as in MindSpore.
    """
    found = np.floor(np.arange(count, dtype=np.float32) * (np.float32(size) / np.float32(count)))
    return np.asarray(np.minimum(found.astype(np.int64), size - 1))


def resize_nearest(how: ResizeSizes, x: Array) -> Array:
    """Returns x resized by nearest neighbour, which repeats or skips elements of x."""
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        x = np.take(x, nearest_indices(size, count), axis)
    return x


def resize_nearest_gradient(how: ResizeSizes, gradient: Array) -> Array:
    """Returns the gradient of `resize_nearest`: the sum of the gradients of an element's copies."""
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        matrix = np.zeros((size, count))
        matrix[nearest_indices(size, count), np.arange(count)] = 1
        gradient = np.moveaxis(np.tensordot(matrix, gradient, (1, axis)), 0, axis)
    return gradient
