"""Images read at places that follow from boxes or from shifts: a table of each, a convolution whose window bends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx_cell import images, sampling
from ms_fusion.onnx_cell.operator_use import Use, number

HALF_PIXEL = 16
"""Version from which on RoiAlign's pixels have their places in the middle by default."""
BESIDE = 6
"""Places more than half a pixel apart that lie within a pixel of one, and one more on either side."""


def align(use: Use) -> str:
    """``RoiAlign``."""
    samples, is_largest = int(use.attr("sampling_ratio", 0)), use.attr("mode", "avg") == "max"
    mode = use.attr(
        "coordinate_transformation_mode",
        "half_pixel" if use.version >= HALF_PIXEL else "output_half_pixel",
    )
    sizes = int(use.attr("output_height", 1)), int(use.attr("output_width", 1))
    scale, is_half = number(float(use.attr("spatial_scale", 1.0))), mode == "half_pixel"
    if samples > 0:
        return f"regions.aligned({use.given(0, 1, 2)}, {sizes}, {samples}, {scale}, {is_half}, {is_largest})"
    if is_largest:
        raise use.refused(
            "the largest of as many places as follows from each box (sampling_ratio 0)"
        )
    return f"regions.averaged({use.given(0, 1, 2)}, {sizes}, {scale}, {is_half})"


def aligned(
    x: Any,
    boxes: Any,
    numbers: Any,
    sizes: tuple[int, int],
    samples: int,
    scale: float,
    is_half: bool,
    is_largest: bool,
) -> Any:
    """Of each box a table of so many rows and columns, each field the mean of samples² places.

    Args:
        x: (images, channels, height, width).
        boxes: (boxes, 4): left, upper, right, lower.
        numbers: the image of each box.
        sizes: rows and columns.
        samples: places of a field in each direction.
        scale: what boxes are multiplied with.
        is_half: whether pixels have their places in the middle; a box is as large as a pixel at least where not.
        is_largest: the largest share of one pixel in the places of a field instead of the mean.
    """
    start, reach = stretches(boxes, scale, is_half)
    high, wide = x.shape[2:]
    rows = along(start[:, 1:], reach[:, 1:], sizes[0] * samples, high)
    columns = along(start[:, :1], reach[:, :1], sizes[1] * samples, wide)
    table = ops.reshape(ops.transpose(x, (0, 2, 3, 1)), (-1, x.shape[1]))
    first = ops.reshape(ops.cast(numbers, mindspore.int64), (-1, 1, 1)) * (high * wide)
    shares = []
    for row, row_share in rows:
        for column, column_share in columns:
            pixels = ops.gather(
                table, first + ops.expand_dims(row, 2) * wide + ops.expand_dims(column, 1), 0
            )
            share = ops.expand_dims(row_share, 2) * ops.expand_dims(column_share, 1)
            shares.append(pixels * ops.expand_dims(ops.cast(share, x.dtype), 3))
    one, other, third, fourth = shares
    found = (
        ops.maximum(ops.maximum(one, other), ops.maximum(third, fourth))
        if is_largest
        else one + other + third + fourth
    )
    found = ops.reshape(found, (-1, sizes[0], samples, sizes[1], samples, x.shape[1]))
    found = ops.amax(found, (2, 4)) if is_largest else ops.mean(found, (2, 4))
    return ops.transpose(found, (0, 3, 1, 2))


def stretches(boxes: Any, scale: float, is_half: bool) -> tuple[Any, Any]:
    """Where boxes begin in an image, and how far they reach: x and y of each."""
    scaled = boxes * scale - (0.5 if is_half else 0.0)
    reach = scaled[:, 2:] - scaled[:, :2]
    return scaled[:, :2], reach if is_half else ops.maximum(reach, 1.0)


def averaged(
    x: Any, boxes: Any, numbers: Any, sizes: tuple[int, int], scale: float, is_half: bool
) -> Any:
    """Likewise the mean of as many places of each field as it is pixels high and wide, rounded up.

    What a pixel adds to a field is a share of its row times one of its column, so the whole is two products of matrices whose
    sizes do not follow from the boxes. Arguments are those of `aligned`.
    """
    images_count, channels, high, wide = x.shape
    start, reach = stretches(boxes, scale, is_half)
    rows = shares(start[:, 1:], reach[:, 1:], sizes[0], high)
    columns = shares(start[:, :1], reach[:, :1], sizes[1], wide)
    own = ops.equal(
        ops.reshape(ops.cast(numbers, mindspore.int64), (-1, 1)), ops.arange(images_count)
    )
    rows = ops.expand_dims(rows, 2) * ops.cast(ops.reshape(own, (-1, 1, images_count, 1)), x.dtype)
    table = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (images_count * high, channels * wide))
    found = ops.matmul(ops.reshape(rows, (-1, images_count * high)), table)
    found = ops.matmul(
        ops.reshape(found, (-1, sizes[0] * channels, wide)), ops.swapaxes(columns, 1, 2)
    )
    return ops.transpose(ops.reshape(found, (-1, sizes[0], channels, sizes[1])), (0, 2, 1, 3))


def shares(start: Any, reach: Any, fields: int, size: int) -> Any:
    """What each pixel of a row adds to the mean of each field of a box: (boxes, fields, pixels)."""
    field = ops.expand_dims(reach / fields, 2)
    count = ops.stop_gradient(ops.ceil(field))
    most = ops.maximum(count, 1.0)
    step = field / most
    first = ops.expand_dims(start + ops.arange(fields) * (reach / fields), 2)
    pixel = ops.cast(ops.arange(size), reach.dtype)
    # of places that are more than half a pixel apart, or a single one, these may be the ones beside it
    nearest = ops.floor((pixel - 1.0 - first) / ops.maximum(step, 1e-6) - 0.5)
    nearest = ops.stop_gradient(ops.minimum(ops.maximum(nearest, 0.0), most - 1.0))
    total = ops.zeros_like(nearest)
    for more in range(BESIDE):
        place = nearest + more
        at = first + (place + 0.5) * step
        counts = ops.logical_and(place < count, ops.logical_and(at >= -1.0, at <= size))
        at = ops.minimum(ops.maximum(at, 0.0), size - 1.0)
        share = ops.maximum(1.0 - ops.abs(at - pixel), 0.0)
        total = total + share * ops.cast(counts, share.dtype)
    return total / most


def along(start: Any, reach: Any, count: int, size: int) -> list[tuple[Any, Any]]:
    """Two pixels beside each of so many places of a stretch, and their shares; 0 where it lies a pixel outside or more."""
    at = start + (ops.arange(count) + 0.5) / count * reach
    is_inside = ops.cast(ops.logical_and(at >= -1.0, at <= size), at.dtype)
    at = ops.minimum(ops.maximum(at, 0.0), size - 1.0)
    first = ops.floor(at)
    part = at - first
    place = ops.cast(first, mindspore.int64)
    return [(place, (1.0 - part) * is_inside), (ops.minimum(place + 1, size - 1), part * is_inside)]


def bent_convolution(use: Use) -> str:
    """``DeformConv``."""
    _, _, *spans = use.known_shape(1)
    strides, dilations, pads = images.windows_of(use, spans)
    groups = int(use.attr("group", 1)), int(use.attr("offset_group", 1))
    given = ", ".join(use.text(place) or "None" for place in range(5))
    return f"regions.bent({given}, {strides}, {pads[::2]}, {dilations}, {groups})"


def bent(
    x: Any,
    weight: Any,
    shifts: Any,
    bias: Any,
    mask: Any,
    strides: Sequence[int],
    before: Sequence[int],
    apart: Sequence[int],
    groups: tuple[int, int],
) -> Any:
    """A convolution that reads each element of its window at a shifted place, between pixels and times a mask if there is one.

    Args:
        x: (images, channels, sides …).
        weight: (new channels, channels of a group, spans …).
        shifts: (images, groups of shifts · elements of a window · axes, new sides …).
        bias: of each new channel.
        mask: (images, groups of shifts · elements of a window, new sides …).
        strides: of each axis; so are `before`, the padding in front of it, and `apart`, the dilations.
        groups: of channels, and of shifts.
    """
    images_count, channels, *sides = x.shape
    spans, results = weight.shape[2:], shifts.shape[2:]
    axes, own = len(sides), groups[1]
    span, count = 1, 1
    for size, result in zip(spans, results):  # noqa: B905 - MindSpore knows no strict
        span, count = span * size, count * result
    moved = ops.reshape(shifts, (images_count * own, span, axes, count))
    at = []
    for axis in range(axes):
        steps = ops.reshape(
            ops.arange(results[axis]) * strides[axis],
            (1,) * (axis + 1) + (-1,) + (1,) * (axes - 1 - axis),
        )
        steps = ops.reshape(ops.broadcast_to(steps, (1, *results)), (1, count))
        inner = ops.reshape(
            ops.arange(spans[axis]) * apart[axis], (1,) * axis + (-1,) + (1,) * (axes - 1 - axis)
        )
        inner = ops.reshape(ops.broadcast_to(inner, spans), (span, 1))
        place = ops.cast(steps + inner - before[axis], x.dtype)
        at.append(ops.reshape(moved[:, :, axis] + place, (images_count * own, -1)))
    found = sampling.read(
        ops.reshape(x, (images_count * own, channels // own, *sides)), at, "linear", "zeros", True
    )
    if mask is not None:
        found = found * ops.reshape(mask, (images_count * own, 1, -1))
    found = ops.reshape(found, (images_count, groups[0], -1, count))
    made = ops.matmul(ops.reshape(weight, (groups[0], weight.shape[0] // groups[0], -1)), found)
    made = ops.reshape(made, (images_count, -1, *results))
    return made if bias is None else made + ops.reshape(bias, (-1,) + (1,) * axes)
