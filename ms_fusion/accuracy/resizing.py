"""Operators that change the sizes of images: means over even shares of them, and the nearest element; in NumPy.

Share `i` of `size` elements in `count` shares is from ⌊i · size ÷ count⌋ up to, without it, ⌈(i + 1) · size ÷ count⌉.
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
class Sizes:
    """Of an image before and after.

    Attributes:
        axes: height and width.
        large, small: sizes on the two axes of what is taken from, or shared out, and of what is made of it.
    """

    axes: tuple[int, ...]
    large: tuple[int, ...]
    small: tuple[int, ...]


def sizes(node: Node, source: Sequence[Any], result: Sequence[Any]) -> Sizes:
    """Height and width of two shapes.

    Raises:
        InputError: they have another number of axes.
    """
    if len(source) != 4 or len(result) != 4:
        raise InputError(
            "images of other than four axes are not resized",
            place=node.op,
            expected="4 axes",
            got=f"{list(source)}, {list(result)}",
        )
    axes = (1, 2) if node.attr("format", "NCHW") == "NHWC" else (2, 3)
    return Sizes(axes, *(tuple(int(shape[axis]) for axis in axes) for shape in (source, result)))


def nearest_sizes(call: Any, source: Sequence[Any], result: Sequence[Any]) -> Sizes:
    """The same of an operator that takes the nearest element, a `formulas.Call`.

    Raises:
        InputError: or it aligns corners or middles, which its formula does not.
    """
    if call.flag("align_corners", 2) or call.flag("half_pixel_centers", 3):
        raise InputError(
            "the nearest element of aligned images is not computed", place=call.node.op
        )
    return sizes(call.node, source, result)


def shares(size: int, count: int) -> list[tuple[int, int]]:
    """First element and end of each share."""
    return [(at * size // count, -(-(at + 1) * size // count)) for at in range(count)]


def share_means(how: Sizes, x: Array) -> Array:
    """The mean of each share of x in height and width."""
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        parts = [
            np.take(x, range(first, end), axis).mean(axis) for first, end in shares(size, count)
        ]
        x = np.stack(parts, axis)
    return x


def gradient_of_share_means(how: Sizes, gradient: Array) -> Array:
    """Each element's part of the gradients of all shares that it is in."""
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        matrix = np.zeros((size, count))
        for at, (first, end) in enumerate(shares(size, count)):
            matrix[first:end, at] = 1 / (end - first)
        gradient = np.moveaxis(np.tensordot(matrix, gradient, (1, axis)), 0, axis)
    return gradient


def nearest_places(size: int, count: int) -> Array:
    """Which of `size` elements each of `count` takes: ⌊i · size ÷ count⌋, in float32 as MindSpore computes it."""
    found = np.floor(np.arange(count, dtype=np.float32) * (np.float32(size) / np.float32(count)))
    return np.asarray(np.minimum(found.astype(np.int64), size - 1))


def nearest(how: Sizes, x: Array) -> Array:
    """x with each element repeated, or left out."""
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        x = np.take(x, nearest_places(size, count), axis)
    return x


def gradient_of_nearest(how: Sizes, gradient: Array) -> Array:
    """The sum of the gradients of all that took an element."""
    for axis, size, count in zip(how.axes, how.large, how.small, strict=True):
        matrix = np.zeros((size, count))
        matrix[nearest_places(size, count), np.arange(count)] = 1
        gradient = np.moveaxis(np.tensordot(matrix, gradient, (1, axis)), 0, axis)
    return gradient
