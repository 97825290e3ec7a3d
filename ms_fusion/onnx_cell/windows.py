"""Poolings that MindSpore has no primitive for: of any rank, dilated, rounded up, with the places of what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor, ops

from ms_fusion.onnx_cell.operator_use import Use


def table(
    sizes: Sequence[int],
    spans: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    *,
    up: bool,
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Which places windows have: a row for each window.

    Returns:
        Numbers of places of the image, as many as it has where one lies outside; which lie in the image or in its padding; and how
        many windows lie along each axis.
    """
    places, padded = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
    inside, counts = padded, []
    for axis, (size, span, step, apart) in enumerate(
        zip(sizes, spans, strides, dilations, strict=True)
    ):
        before, behind = pads[2 * axis : 2 * axis + 2]
        room = size + before + behind - (span - 1) * apart - 1
        count = (math.ceil if up else math.floor)(room / step) + 1
        if up and (count - 1) * step >= size + before:
            count -= 1  # it would begin in the padding behind the image
        own = np.arange(count)[:, None] * step + np.arange(span) * apart - before
        places = _crossed(places * size, np.clip(own, 0, size - 1), np.add)
        inside = _crossed(inside, (own >= 0) & (own < size), np.logical_and)
        padded = _crossed(padded, own < size + behind, np.logical_and)
        counts.append(count)
    return np.where(inside, places, math.prod(sizes)), padded, tuple(counts)


def _crossed(one: np.ndarray, other: np.ndarray, function: Any) -> np.ndarray:
    """Every row of both together, every column of both together."""
    made = function(one[:, None, :, None], other[None, :, None, :])
    return made.reshape(one.shape[0] * other.shape[0], -1)


def largest(use: Use, places: np.ndarray, counts: tuple[int, ...], lowest: float) -> str:
    """A pooling by the largest, and where it is if that is asked for."""
    part = use.part("places", Tensor(places))
    if len([name for name in use.node.outputs if name]) < 2:
        return f"windows.largest_of({use.text()}, {part}, {counts}, {lowest})"
    sizes = use.known_sides()
    turned = (
        np.arange(math.prod(sizes)).reshape(sizes[::-1]).transpose().reshape(-1)
        if use.attr("storage_order", 0)
        else np.arange(math.prod(sizes))
    )
    return f"windows.largest_and_place({use.text()}, {part}, {use.part('numbers', Tensor(turned.astype(np.int64)))}, {counts}, {lowest})"


def mean(use: Use, places: np.ndarray, padded: np.ndarray, counts: tuple[int, ...]) -> str:
    """A pooling by the mean, of what lies in the image or in its padding, too."""
    total = math.prod(use.known_sides())
    kept = padded if use.attr("count_include_pad", 0) else places < total
    share = Tensor((1 / kept.sum(1)).astype(use.value().dtype))
    return f"windows.mean_of({use.text()}, {use.part('places', Tensor(places))}, {use.part('share', share)}, {counts})"


def power(use: Use, places: np.ndarray, counts: tuple[int, ...]) -> str:
    """A pooling by (Σ |x|ᵖ)^(1/p)."""
    return f"windows.power_of({use.text()}, {use.part('places', Tensor(places))}, {counts}, {float(use.attr('p', 2))})"


def taken(x: Any, places: Any, filler: float) -> Any:
    """The elements of windows: (images, channels, windows, places of a window); `filler` outside of the image."""
    flat = ops.reshape(x, (x.shape[0], x.shape[1], -1))
    edge = ops.full((x.shape[0], x.shape[1], 1), filler, dtype=x.dtype)
    found = ops.gather(ops.concat((flat, edge), 2), ops.reshape(places, (-1,)), 2)
    return ops.reshape(found, (x.shape[0], x.shape[1], *places.shape))


def largest_of(x: Any, places: Any, counts: tuple[int, ...], lowest: float) -> Any:
    """The largest of each window."""
    return ops.reshape(ops.amax(taken(x, places, lowest), 3), x.shape[:2] + counts)


def largest_and_place(
    x: Any, places: Any, numbers: Any, counts: tuple[int, ...], lowest: float
) -> Any:
    """The largest of each window, and its number among all places of the tensor, in the order that `numbers` says."""
    windows = taken(x, places, lowest)
    best = ops.reshape(ops.cast(ops.argmax(windows, 3), mindspore.int64), (-1, places.shape[0], 1))
    table = ops.broadcast_to(ops.expand_dims(places, 0), (best.shape[0], *places.shape))
    found = ops.reshape(ops.gather_elements(table, 2, best), (-1,))
    own = ops.reshape(ops.gather(numbers, found, 0), (x.shape[0] * x.shape[1], -1))
    images = ops.expand_dims(ops.arange(x.shape[0] * x.shape[1]) * numbers.shape[0], 1)
    sizes = x.shape[:2] + counts
    return ops.reshape(ops.amax(windows, 3), sizes), ops.reshape(own + images, sizes)


def mean_of(x: Any, places: Any, share: Any, counts: tuple[int, ...]) -> Any:
    """The sum of each window times its share."""
    return ops.reshape(ops.sum(taken(x, places, 0.0), 3) * share, x.shape[:2] + counts)


def power_of(x: Any, places: Any, counts: tuple[int, ...], p: float) -> Any:
    """(Σ |x|ᵖ)^(1/p) of each window."""
    total = ops.sum(ops.pow(ops.abs(taken(x, places, 0.0)), p), 3)
    return ops.reshape(ops.pow(total, 1 / p), x.shape[:2] + counts)


def put_together(x: Any, places: Any, sizes: tuple[int, ...]) -> Any:
    """Images of windows, elements at the same place being added.

    Args:
        x: (images, channels · elements of a window, windows).
        places: of the image, a row for each window, as `table` makes them.
        sizes: sides of the image.
    """
    windows, span = places.shape
    total = 1
    for size in sizes:
        total = total * size
    apart = ops.reshape(x, (x.shape[0], -1, span, windows))
    rows = ops.reshape(ops.transpose(apart, (3, 2, 0, 1)), (windows * span, -1))
    found = ops.unsorted_segment_sum(rows, ops.reshape(places, (-1,)), total + 1)
    found = ops.transpose(ops.narrow(found, 0, 0, total), (1, 0))
    return ops.reshape(found, (x.shape[0], -1, *sizes))


def spread(
    x: Any, weight: Any, places: Any, sizes: tuple[int, ...], groups: int, bias: Any = None
) -> Any:
    """What a convolution passes back to its input: each element times the weights, put together where its window lies."""
    given = ops.reshape(x, (x.shape[0], groups, x.shape[1] // groups, -1))
    factors = ops.reshape(weight, (groups, weight.shape[0] // groups, -1))
    rows = ops.matmul(ops.swapaxes(factors, 1, 2), given)
    found = put_together(ops.reshape(rows, (x.shape[0], -1, given.shape[3])), places, sizes)
    return found if bias is None else found + ops.reshape(bias, (-1,) + (1,) * len(sizes))


def put_back(
    x: Any, places: Any, steps: Sequence[tuple[int, int]], wanted: tuple[int, ...] | None
) -> Any:
    """The largest of windows at the places where they were found, 0 elsewhere.

    Args:
        x: (images, channels, windows of each side …).
        places: their numbers among all places of the tensor.
        steps: step and span of windows along each axis, the padding taken off.
        wanted: sides of a larger image, which has zeros behind; None for none.
    """
    sizes: tuple[int, ...] = ()
    total = x.shape[0] * x.shape[1]
    for axis in range(len(steps)):
        sizes = (*sizes, (x.shape[axis + 2] - 1) * steps[axis][0] + steps[axis][1])
        total = total * sizes[axis]
    rows = ops.reshape(ops.cast(places, mindspore.int64), (-1, 1))
    found = ops.TensorScatterUpdate()(ops.zeros((total,), x.dtype), rows, ops.reshape(x, (-1,)))
    found = ops.reshape(found, (*x.shape[:2], *sizes))
    for axis in range(len(steps)):
        lacking = 0 if wanted is None else wanted[axis] - sizes[axis]
        if lacking > 0:
            shape = (*found.shape[: axis + 2], lacking, *found.shape[axis + 3 :])
            found = ops.concat((found, ops.zeros(shape, x.dtype)), axis + 2)
    return found
