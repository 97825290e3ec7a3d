"""What pooling and its gradients mean, in NumPy; what lies in the padding counts for nothing, unless a mean is told so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ms_fusion.accuracy.windows import Windows

Array = np.ndarray


def _parts(where: Windows, x: Array, filler: Any) -> Iterator[tuple[tuple[Any, ...], Array]]:
    """For each element of the windows its place in x with the padding around, and its values in all windows."""
    padded, _ = _padded(where, x, filler)
    for first in itertools.product(*map(range, where.spans)):
        at: list[Any] = [slice(None)] * x.ndim
        for axis, begin, step, count in zip(
            where.axes, first, where.strides, where.counts, strict=True
        ):
            at[axis] = slice(begin, begin + (count - 1) * step + 1, step)
        yield tuple(at), padded[tuple(at)]


def _padded(where: Windows, x: Array, filler: Any) -> tuple[Array, tuple[Any, ...]]:
    """x with the padding around, and the place of x in it."""
    shape, inner = list(x.shape), [slice(None)] * x.ndim
    for axis, size, before, count, step, span in zip(
        where.axes, where.sizes, where.starts, where.counts, where.strides, where.spans, strict=True
    ):
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
    return np.asarray(sum(part for _, part in _parts(where, x, 0)) / held(where, x.ndim))


def gradient_of_mean(where: Windows, x: Array, gradient: Array) -> Array:
    """Each window's gradient, shared by what it has of x."""
    total, inner = _padded(where, np.zeros_like(x), 0)
    share = gradient / held(where, x.ndim)
    for at, _ in _parts(where, x, 0):
        total[at] += share
    return total[inner]


def held(where: Windows, rank: int) -> Array:
    """By what the sum of each window is divided: how many elements it has inside, or as `where` says."""
    if where.divisor:
        return np.full((1,) * rank, where.divisor)
    each = []
    for number, axis in enumerate(where.axes):
        first = np.arange(where.counts[number]) * where.strides[number] - where.starts[number]
        low, high = where.counted[number]
        count = np.minimum(first + where.spans[number], high) - np.maximum(first, low)
        each.append(count.reshape([-1 if at == axis else 1 for at in range(rank)]))
    return np.asarray(math.prod(each))
