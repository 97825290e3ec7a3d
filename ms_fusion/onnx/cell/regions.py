"""Emits MindSpore code for ONNX ``RoiAlign`` and ``DeformConv``, which sample images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx.cell import images, sampling
from ms_fusion.onnx.cell.operator_use import OperatorUse, python_literal

HALF_PIXEL_OPSET = 16
"""First opset in which RoiAlign uses half-pixel coordinates by default."""
NEARBY_PLACES = 6
"""Largest number of samples of one axis that can contribute to a pixel.

The distance between two samples is more than half a pixel, and only samples within one pixel
contribute. The bound includes one further sample on each side.
"""


def roi_align(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``RoiAlign``."""
    samples, is_largest = int(use.attr("sampling_ratio", 0)), use.attr("mode", "avg") == "max"
    mode = use.attr(
        "coordinate_transformation_mode",
        "half_pixel" if use.version >= HALF_PIXEL_OPSET else "output_half_pixel",
    )
    sizes = int(use.attr("output_height", 1)), int(use.attr("output_width", 1))
    scale, is_half = python_literal(float(use.attr("spatial_scale", 1.0))), mode == "half_pixel"
    if samples > 0:
        return (
            f"regions.align_regions({use.input_texts(0, 1, 2)}, {sizes}, {samples}, {scale}, "
            f"{is_half}, {is_largest})"
        )
    if is_largest:
        raise use.refusal(
            "the largest of as many places as follows from each box (sampling_ratio 0)"
        )
    return f"regions.average_regions({use.input_texts(0, 1, 2)}, {sizes}, {scale}, {is_half})"


def align_regions(
    x: Any,
    boxes: Any,
    numbers: Any,
    sizes: tuple[int, int],
    samples: int,
    scale: float,
    is_half: bool,
    is_largest: bool,
) -> Any:
    """Divides each box into a grid of bins, and returns the value of each bin.

    The value of a bin is the mean of `samples` · `samples` bilinear samples.

    Args:
        x: tensor (images, channels, height, width).
        boxes: tensor (boxes, 4) of left, top, right and bottom.
        numbers: for each box, the index of its image.
        sizes: numbers of rows and columns of the grid.
        samples: number of samples of a bin in each direction.
        scale: factor by which the box coordinates are multiplied.
        is_half: whether coordinates are shifted by half a pixel. If not, a box has at least the
            size of a pixel.
        is_largest: whether the value of a bin is the maximum of the weighted pixels of all samples,
            instead of the mean.
    """
    start, reach = box_extents(boxes, scale, is_half)
    high, wide = x.shape[2:]
    rows = linear_taps(start[:, 1:], reach[:, 1:], sizes[0] * samples, high)
    columns = linear_taps(start[:, :1], reach[:, :1], sizes[1] * samples, wide)
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


def box_extents(boxes: Any, scale: float, is_half: bool) -> tuple[Any, Any]:
    """Returns the origins and the sizes of boxes in pixels, each as (x, y).

    The arguments are those of `align_regions`.
    """
    scaled = boxes * scale - (0.5 if is_half else 0.0)
    reach = scaled[:, 2:] - scaled[:, :2]
    return scaled[:, :2], reach if is_half else ops.maximum(reach, 1.0)


def average_regions(
    x: Any, boxes: Any, numbers: Any, sizes: tuple[int, int], scale: float, is_half: bool
) -> Any:
    """Computes RoiAlign with the mean of the samples of each bin.

    In each direction, the number of samples of a bin is the bin's size in pixels, rounded up. The
    weight of a pixel is the product of a row weight and a column weight. Therefore two matrix
    products compute the result. The sizes of these products do not depend on the coordinates of the
    boxes. The arguments are those of `align_regions`.
    """
    images_count, channels, high, wide = x.shape
    start, reach = box_extents(boxes, scale, is_half)
    rows = pixel_weights(start[:, 1:], reach[:, 1:], sizes[0], high)
    columns = pixel_weights(start[:, :1], reach[:, :1], sizes[1], wide)
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


def pixel_weights(start: Any, reach: Any, fields: int, size: int) -> Any:
    """Returns the weights of the pixels along one axis in the mean of each bin.

    `start` and `reach` are tensors (boxes, 1) with the origins and the sizes of the boxes along the
    axis, in pixels. `fields` is the number of bins, and `size` is the number of pixels. The result
    has the shape (boxes, bins, pixels).
    """
    field = ops.expand_dims(reach / fields, 2)
    count = ops.stop_gradient(ops.ceil(field))
    most = ops.maximum(count, 1.0)
    step = field / most
    first = ops.expand_dims(start + ops.arange(fields) * (reach / fields), 2)
    pixel = ops.cast(ops.arange(size), reach.dtype)
    # `nearest` is the first sample that may contribute to a pixel. Samples are more than half a
    # pixel apart, or there is a single sample.
    nearest = ops.floor((pixel - 1.0 - first) / ops.maximum(step, 1e-6) - 0.5)
    nearest = ops.stop_gradient(ops.minimum(ops.maximum(nearest, 0.0), most - 1.0))
    total = ops.zeros_like(nearest)
    for more in range(NEARBY_PLACES):
        place = nearest + more
        at = first + (place + 0.5) * step
        counts = ops.logical_and(place < count, ops.logical_and(at >= -1.0, at <= size))
        at = ops.minimum(ops.maximum(at, 0.0), size - 1.0)
        share = ops.maximum(1.0 - ops.abs(at - pixel), 0.0)
        total = total + share * ops.cast(counts, share.dtype)
    return total / most


def linear_taps(start: Any, reach: Any, count: int, size: int) -> list[tuple[Any, Any]]:
    """Returns the two pixels next to each of `count` equally spaced samples, with their weights.

    The samples are in an interval of length `reach` that begins at `start`. If a sample is more
    than a pixel outside of the image, both weights are 0.
    """
    at = start + (ops.arange(count) + 0.5) / count * reach
    is_inside = ops.cast(ops.logical_and(at >= -1.0, at <= size), at.dtype)
    at = ops.minimum(ops.maximum(at, 0.0), size - 1.0)
    first = ops.floor(at)
    part = at - first
    place = ops.cast(first, mindspore.int64)
    return [(place, (1.0 - part) * is_inside), (ops.minimum(place + 1, size - 1), part * is_inside)]


def deformable_convolution(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``DeformConv``."""
    _, _, *spans = use.known_shape(1)
    strides, dilations, pads = images.windows_of(use, spans)
    groups = int(use.attr("group", 1)), int(use.attr("offset_group", 1))
    given = ", ".join(use.text(place) or "None" for place in range(5))
    return f"regions.convolve_deformable({given}, {strides}, {pads[::2]}, {dilations}, {groups})"


def convolve_deformable(
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
    """Computes a convolution that samples the elements of each window at shifted coordinates.

    The samples are interpolated bilinearly and multiplied by the mask.

    Args:
        x: tensor (images, channels, spatial sizes …).
        weight: tensor (output channels, channels of a group, sizes of a window …).
        shifts: tensor (images, shift groups · elements of a window · axes, output sizes …).
        bias: one value for each output channel, or None.
        mask: tensor (images, shift groups · elements of a window, output sizes …), or None.
        strides: stride of each axis.
        before: padding in front of each axis.
        apart: dilation of each axis.
        groups: a pair (number of channel groups, number of shift groups).
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
    found = sampling.interpolate_at(
        ops.reshape(x, (images_count * own, channels // own, *sides)), at, "linear", "zeros", True
    )
    if mask is not None:
        found = found * ops.reshape(mask, (images_count * own, 1, -1))
    found = ops.reshape(found, (images_count, groups[0], -1, count))
    made = ops.matmul(ops.reshape(weight, (groups[0], weight.shape[0] // groups[0], -1)), found)
    made = ops.reshape(made, (images_count, -1, *results))
    return made if bias is None else made + ops.reshape(bias, (-1,) + (1,) * axes)
