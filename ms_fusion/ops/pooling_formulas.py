"""Computes pooling and its gradients in NumPy.

In average pooling, the mean includes elements of the padding only if `PoolingWindows.ends` is set.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ms_fusion.ops.pooling_windows import PoolingWindows, count_elements

Array = np.ndarray


def _window_elements(
    where: PoolingWindows, x: Array, filler: Any
) -> Iterator[tuple[tuple[Any, ...], Array]]:
    """Yields (slices, values) for each position within a window.

    `values` has, for every window, the element of the padded x at this position. The tuple `slices`
    selects these elements in the padded x. The padding has the value `filler`.
    """
    padded, _ = _pad(where, x, filler)
    dilations = where.dilations or (1,) * len(where.spans)
    reaches = (
        range(0, reach, apart) for reach, apart in zip(where.reaches, dilations, strict=True)
    )
    for first in itertools.product(*reaches):
        at: list[Any] = [slice(None)] * x.ndim
        for axis, begin, step, count in zip(
            where.axes, first, where.strides, where.counts, strict=True
        ):
            at[axis] = slice(begin, begin + (count - 1) * step + 1, step)
        yield tuple(at), padded[tuple(at)]


def _pad(where: PoolingWindows, x: Array, filler: Any) -> tuple[Array, tuple[Any, ...]]:
    """Returns (padded x, slices that select x in the padded x)."""
    shape, inner = list(x.shape), [slice(None)] * x.ndim
    for axis, size, (before, _), count, step, reach in zip(
        where.axes,
        where.sizes,
        where.pads,
        where.counts,
        where.strides,
        where.reaches,
        strict=True,
    ):
        shape[axis] = max((count - 1) * step + reach, before + size)
        inner[axis] = slice(before, before + size)
    padded = np.full(shape, filler, x.dtype)
    padded[tuple(inner)] = x
    return padded, tuple(inner)


def max_pool(where: PoolingWindows, x: Array) -> Array:
    """Returns the maximum of every window, or NaN if the window contains NaN."""
    parts = [part for _, part in _window_elements(where, x, -np.inf)]
    return np.asarray(np.maximum.reduce(parts))


def max_pool_gradient(where: PoolingWindows, x: Array, gradient: Array) -> Array:
    """Returns the gradient of max pooling.

    The gradient of a window is added to the window's first maximum, or to the window's first NaN.
    """
    total, inner = _pad(where, np.zeros_like(x), 0)
    level, free = max_pool(where, x), np.ones(gradient.shape, bool)
    for at, part in _window_elements(where, x, -np.inf):
        inside = _inside_mask(where, x, at)
        hit = free & inside & ((part == level) | np.isnan(part))
        total[at] += np.where(hit, gradient, 0)
        free &= ~hit
    return total[inner]


def _inside_mask(where: PoolingWindows, x: Array, at: tuple[Any, ...]) -> Array:
    inside, inner = _pad(where, np.zeros(x.shape, bool), False)
    inside[inner] = True
    return inside[at]


def average_pool(where: PoolingWindows, x: Array) -> Array:
    """Returns the mean of every window."""
    return np.asarray(
        sum(part for _, part in _window_elements(where, x, 0)) / window_divisors(where, x.ndim)
    )


def average_pool_gradient(where: PoolingWindows, x: Array, gradient: Array) -> Array:
    """Returns the gradient of average pooling.

    Each window distributes its gradient evenly over its elements.
    """
    total, inner = _pad(where, np.zeros_like(x), 0)
    share = gradient / window_divisors(where, x.ndim)
    for at, _ in _window_elements(where, x, 0):
        total[at] += share
    return total[inner]


def window_divisors(where: PoolingWindows, rank: int) -> Array:
    """Returns the number by which average pooling divides the sum of each window.

    The result is `where.divisor`. If `where.divisor` is 0, the result is the number of the window's
    elements that are in `where.counted_ranges`.
    """
    if where.divisor:
        return np.full((1,) * rank, where.divisor)
    each = []
    for number, axis in enumerate(where.axes):
        index = np.arange(where.counts[number])
        count = count_elements(where, number, index, (np.minimum, np.maximum))
        each.append(count.reshape([-1 if at == axis else 1 for at in range(rank)]))
    return np.asarray(math.prod(each))
