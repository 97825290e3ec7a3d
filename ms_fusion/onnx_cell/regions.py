"""Images read at places that follow from boxes or from shifts: a table of each, a convolution whose window bends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx_cell import images, sampling
from ms_fusion.onnx_cell.use import Use, number

HALF_PIXEL = 16
"""Version from which on RoiAlign's pixels have their places in the middle by default."""


def align(use: Use) -> str:
    """``RoiAlign``."""
    samples = int(use.attr("sampling_ratio", 0))
    if samples <= 0:
        raise use.refused("how many places are read follows from the boxes (sampling_ratio 0)")
    mode = use.attr("coordinate_transformation_mode", "half_pixel" if use.version >= HALF_PIXEL else "output_half_pixel")  # fmt: skip
    told = (
        str((int(use.attr("output_height", 1)), int(use.attr("output_width", 1)))), str(samples), number(float(use.attr("spatial_scale", 1.0))),
        str(mode == "half_pixel"), str(use.attr("mode", "avg") == "max"),
    )  # fmt: skip
    return f"regions.aligned({use.given(0, 1, 2)}, {', '.join(told)})"


def aligned(x: Any, boxes: Any, numbers: Any, sizes: tuple[int, int], samples: int, scale: float, is_half: bool, is_largest: bool) -> Any:  # fmt: skip
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
    scaled = boxes * scale - (0.5 if is_half else 0.0)
    start, reach = scaled[:, :2], scaled[:, 2:] - scaled[:, :2]
    reach = reach if is_half else ops.maximum(reach, 1.0)
    high, wide = x.shape[2:]
    rows = along(start[:, 1:], reach[:, 1:], sizes[0] * samples, high)
    columns = along(start[:, :1], reach[:, :1], sizes[1] * samples, wide)
    table = ops.reshape(ops.transpose(x, (0, 2, 3, 1)), (-1, x.shape[1]))
    first = ops.reshape(ops.cast(numbers, mindspore.int64), (-1, 1, 1)) * (high * wide)
    shares = []
    for row, row_share in rows:
        for column, column_share in columns:
            pixels = ops.gather(table, first + ops.expand_dims(row, 2) * wide + ops.expand_dims(column, 1), 0)  # fmt: skip
            share = ops.expand_dims(row_share, 2) * ops.expand_dims(column_share, 1)
            shares.append(pixels * ops.expand_dims(ops.cast(share, x.dtype), 3))
    one, other, third, fourth = shares
    found = ops.maximum(ops.maximum(one, other), ops.maximum(third, fourth)) if is_largest else one + other + third + fourth  # fmt: skip
    found = ops.reshape(found, (-1, sizes[0], samples, sizes[1], samples, x.shape[1]))
    found = ops.amax(found, (2, 4)) if is_largest else ops.mean(found, (2, 4))
    return ops.transpose(found, (0, 3, 1, 2))


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


def bent(x: Any, weight: Any, shifts: Any, bias: Any, mask: Any, strides: Sequence[int], before: Sequence[int], apart: Sequence[int], groups: tuple[int, int]) -> Any:  # fmt: skip
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
        steps = ops.reshape(ops.arange(results[axis]) * strides[axis], (1,) * (axis + 1) + (-1,) + (1,) * (axes - 1 - axis))  # fmt: skip
        steps = ops.reshape(ops.broadcast_to(steps, (1, *results)), (1, count))
        inner = ops.reshape(ops.arange(spans[axis]) * apart[axis], (1,) * axis + (-1,) + (1,) * (axes - 1 - axis))  # fmt: skip
        inner = ops.reshape(ops.broadcast_to(inner, spans), (span, 1))
        place = ops.cast(steps + inner - before[axis], x.dtype)
        at.append(ops.reshape(moved[:, :, axis] + place, (images_count * own, -1)))
    found = sampling.read(ops.reshape(x, (images_count * own, channels // own, *sides)), at, "linear", "zeros", True)  # fmt: skip
    if mask is not None:
        found = found * ops.reshape(mask, (images_count * own, 1, -1))
    found = ops.reshape(found, (images_count, groups[0], -1, count))
    made = ops.matmul(ops.reshape(weight, (groups[0], weight.shape[0] // groups[0], -1)), found)
    made = ops.reshape(made, (images_count, -1, *results))
    return made if bias is None else made + ops.reshape(bias, (-1,) + (1,) * axes)
