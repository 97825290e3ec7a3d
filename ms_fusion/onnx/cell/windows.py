"""Emits poolings that no MindSpore primitive supports, and implements operators on windows.

LpPool and MaxPool of integers do not use a primitive. A pooling does not use a primitive either if
it has dilations, ceil mode, indices as a second result, or a number of spatial axes other than two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor, ops

from ms_fusion.onnx.cell.operator_use import OperatorUse


def table(
    sizes: Sequence[int],
    spans: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    *,
    up: bool,
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Builds an index table with one row for each window of an image, and a mask of the table.

    Args:
        sizes: spatial sizes of the image.
        spans, strides, dilations: sizes, strides and dilations of the windows for each axis.
        pads: two sizes for each axis: the padding before the axis, and the padding after it.
        up: whether the number of windows is rounded up (ONNX's ``ceil_mode``).

    Returns:
        A tuple (table, mask, number of windows along each axis). The table contains the flat index
        in the image for each element of each window. If the position of an element is outside of
        the image, this index is the number of elements of the image. The mask is true at positions
        in the image or its padding.
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
            count -= 1  # the last window would begin in the padding behind the image
        own = np.arange(count)[:, None] * step + np.arange(span) * apart - before
        places = _kronecker_product(places * size, np.clip(own, 0, size - 1), np.add)
        inside = _kronecker_product(inside, (own >= 0) & (own < size), np.logical_and)
        padded = _kronecker_product(padded, own < size + behind, np.logical_and)
        counts.append(count)
    return np.where(inside, places, math.prod(sizes)), padded, tuple(counts)


def _kronecker_product(one: np.ndarray, other: np.ndarray, function: Any) -> np.ndarray:
    """Combines each element of one matrix with each element of the other, as a Kronecker product.

    `function` combines two elements; a Kronecker product would multiply them.
    """
    made = function(one[:, None, :, None], other[None, :, None, :])
    return made.reshape(one.shape[0] * other.shape[0], -1)


def max_pool(use: OperatorUse, places: np.ndarray, counts: tuple[int, ...], lowest: float) -> str:
    """Emits ONNX ``MaxPool``, with the indices of the maxima if the node has a second output.

    `places` and `counts` are the index table and the numbers of windows from `table`.
    """
    part = use.part("places", Tensor(places))
    if len([name for name in use.node.outputs if name]) < 2:
        return f"windows.largest_of({use.text()}, {part}, {counts}, {lowest})"
    sizes = use.known_sides()
    turned = (
        np.arange(math.prod(sizes)).reshape(sizes[::-1]).transpose().reshape(-1)
        if use.attr("storage_order", 0)
        else np.arange(math.prod(sizes))
    )
    return (
        f"windows.largest_and_place({use.text()}, {part}, "
        f"{use.part('numbers', Tensor(turned.astype(np.int64)))}, {counts}, {lowest})"
    )


def average_pool(
    use: OperatorUse, places: np.ndarray, padded: np.ndarray, counts: tuple[int, ...]
) -> str:
    """Emits ONNX ``AveragePool``. The mean includes the padding if ``count_include_pad`` is set."""
    total = math.prod(use.known_sides())
    kept = padded if use.attr("count_include_pad", 0) else places < total
    share = Tensor((1 / kept.sum(1)).astype(use.value().dtype))
    return (
        f"windows.mean_of({use.text()}, {use.part('places', Tensor(places))}, "
        f"{use.part('share', share)}, {counts})"
    )


def power_pool(use: OperatorUse, places: np.ndarray, counts: tuple[int, ...]) -> str:
    """Emits ONNX ``LpPool``, which computes (Σ |x|ᵖ)^(1/p) of each window."""
    return (
        f"windows.power_of({use.text()}, {use.part('places', Tensor(places))}, {counts}, "
        f"{float(use.attr('p', 2))})"
    )


def gather_windows(x: Any, places: Any, filler: float) -> Any:
    """Gathers all windows of images as a tensor (images, channels, windows, elements).

    `places` is the index table from `table`. Positions outside of an image have the value `filler`.
    """
    flat = ops.reshape(x, (x.shape[0], x.shape[1], -1))
    edge = ops.full((x.shape[0], x.shape[1], 1), filler, dtype=x.dtype)
    found = ops.gather(ops.concat((flat, edge), 2), ops.reshape(places, (-1,)), 2)
    return ops.reshape(found, (x.shape[0], x.shape[1], *places.shape))


def largest_of(x: Any, places: Any, counts: tuple[int, ...], lowest: float) -> Any:
    """Returns the maximum of each window."""
    return ops.reshape(ops.amax(gather_windows(x, places, lowest), 3), x.shape[:2] + counts)


def largest_and_place(
    x: Any, places: Any, numbers: Any, counts: tuple[int, ...], lowest: float
) -> Any:
    """Returns a pair: the maximum of each window, and the flat index of the maximum in `x`.

    `numbers` maps the row-major index of an element in the image to another index of this element.
    The other index counts in the order that ONNX's attribute ``storage_order`` selects.
    """
    windows = gather_windows(x, places, lowest)
    best = ops.reshape(ops.cast(ops.argmax(windows, 3), mindspore.int64), (-1, places.shape[0], 1))
    table = ops.broadcast_to(ops.expand_dims(places, 0), (best.shape[0], *places.shape))
    found = ops.reshape(ops.gather_elements(table, 2, best), (-1,))
    own = ops.reshape(ops.gather(numbers, found, 0), (x.shape[0] * x.shape[1], -1))
    images = ops.expand_dims(ops.arange(x.shape[0] * x.shape[1]) * numbers.shape[0], 1)
    sizes = x.shape[:2] + counts
    return ops.reshape(ops.amax(windows, 3), sizes), ops.reshape(own + images, sizes)


def mean_of(x: Any, places: Any, share: Any, counts: tuple[int, ...]) -> Any:
    """Returns the mean of each window: the window's sum multiplied by its weight in `share`."""
    return ops.reshape(ops.sum(gather_windows(x, places, 0.0), 3) * share, x.shape[:2] + counts)


def power_of(x: Any, places: Any, counts: tuple[int, ...], p: float) -> Any:
    """Returns (Σ |x|ᵖ)^(1/p) of each window."""
    total = ops.sum(ops.pow(ops.abs(gather_windows(x, places, 0.0)), p), 3)
    return ops.reshape(ops.pow(total, 1 / p), x.shape[:2] + counts)


def col2im(x: Any, places: Any, sizes: tuple[int, ...]) -> Any:
    """Adds windows into images. Elements at the same position are summed.

    Args:
        x: tensor (images, channels · elements of a window, windows).
        places: flat indices in the image, with one row per window, from `table`.
        sizes: spatial sizes of the image.
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


def transposed_convolution(
    x: Any, weight: Any, places: Any, sizes: tuple[int, ...], groups: int, bias: Any = None
) -> Any:
    """Computes a transposed convolution: a matrix product gives windows, which `col2im` sums."""
    given = ops.reshape(x, (x.shape[0], groups, x.shape[1] // groups, -1))
    factors = ops.reshape(weight, (groups, weight.shape[0] // groups, -1))
    rows = ops.matmul(ops.swapaxes(factors, 1, 2), given)
    found = col2im(ops.reshape(rows, (x.shape[0], -1, given.shape[3])), places, sizes)
    return found if bias is None else found + ops.reshape(bias, (-1,) + (1,) * len(sizes))


def max_unpool(
    x: Any, places: Any, steps: Sequence[tuple[int, int]], wanted: tuple[int, ...] | None
) -> Any:
    """Scatters the maxima of windows to their indices; all other elements of the result are 0.

    Args:
        x: tensor (images, channels, windows along each axis …) of the maxima.
        places: flat index of each maximum in the result before zero-padding.
        steps: for each axis, a pair (s, f): the stride s of the windows, and the size f of the
            result for one maximum. For n maxima, the result has (n − 1) · s + f elements.
        wanted: spatial sizes of a larger result, which is zero-padded at the end; None if the
            result is not enlarged.
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
