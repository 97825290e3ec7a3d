"""Emits MindSpore code for ONNX ``GridSample``, which interpolates images at given coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx.cell.operator_use import OperatorUse

MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "bilinear": "linear",
    "cubic": "cubic",
    "bicubic": "cubic",
}
_CUBIC_A = -0.75
"""Coefficient of Keys' cubic filter."""


def grid_sample(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``GridSample``."""
    mode, padding = str(use.attr("mode", "linear")), str(use.attr("padding_mode", "zeros"))
    if mode not in MODES or padding not in ("zeros", "border", "reflection"):
        raise use.refusal("a mode that ONNX has not")
    return (
        f'sampling.sample_grid({use.input_texts(0, 1)}, "{MODES[mode]}", "{padding}", '
        f"{bool(use.attr('align_corners', 0))})"
    )


def sample_grid(x: Any, grid: Any, mode: str, padding: str, corners: bool) -> Any:
    """Samples `x` at a grid of normalised coordinates.

    Args:
        x: tensor (images, channels, spatial sizes …).
        grid: tensor (images, output sizes …, axes) of coordinates in [−1, 1]. Its last axis lists
            the spatial axes of `x` in reverse order.
    """
    sides = x.shape[2:]
    count = len(sides)
    places = ops.reshape(grid, (x.shape[0], -1, count))
    at = []
    for axis in range(count):
        own, size = places[:, :, count - 1 - axis], sides[axis]
        at.append((own + 1.0) / 2.0 * (size - 1) if corners else ((own + 1.0) * size - 1.0) / 2.0)
    found = interpolate_at(x, at, mode, padding, corners)
    return ops.reshape(found, (*x.shape[:2], *grid.shape[1:-1]))


def interpolate_at(x: Any, at: Sequence[Any], mode: str, padding: str, corners: bool) -> Any:
    """Samples `x` at pixel coordinates.

    Args:
        x: tensor (images, channels, spatial sizes …).
        at: for each spatial axis, a tensor (images, samples) of coordinates in pixels.

    Returns:
        A tensor (images, channels, samples).
    """
    sides = x.shape[2:]
    parts = [(ops.zeros_like(ops.cast(at[0], mindspore.int64)), ops.ones_like(at[0]))]
    for axis in range(len(sides)):
        own = taps(at[axis], sides[axis], mode, padding, corners)
        fresh = []
        for number, share in parts:
            for place, weight in own:
                fresh.append((number * sides[axis] + place, share * weight))
        parts = fresh
    flat = ops.reshape(x, (x.shape[0], x.shape[1], -1))
    found = ops.zeros((1,), x.dtype)
    for number, share in parts:
        wide = ops.broadcast_to(
            ops.expand_dims(number, 1), (x.shape[0], x.shape[1], number.shape[1])
        )
        found = found + ops.gather_elements(flat, 2, wide) * ops.cast(
            ops.expand_dims(share, 1), x.dtype
        )
    return found


def taps(at: Any, size: int, mode: str, padding: str, corners: bool) -> list[tuple[Any, Any]]:
    """Returns pairs (index, weight) of the pixels along one axis that contribute to each sample.

    `at` contains the coordinates of the samples in pixels, and `size` is the number of pixels.
    `mode`, `padding` and `corners` are ONNX's ``mode``, ``padding_mode`` and ``align_corners``.
    """
    first = ops.round(at) if mode == "nearest" else ops.floor(at)
    part = at - first
    if mode == "nearest":
        weights = [(0, ops.ones_like(at))]
    elif mode == "linear":
        weights = [(0, 1.0 - part), (1, part)]
    else:
        weights = [
            (-1, outer_cubic(part + 1.0)),
            (0, inner_cubic(part)),
            (1, inner_cubic(1.0 - part)),
            (2, outer_cubic(2.0 - part)),
        ]
    made = []
    for step, weight in weights:
        place = ops.cast(first, mindspore.int64) + step
        if padding == "zeros":
            is_inside = ops.logical_and(place >= 0, place < size)
            weight = ops.where(is_inside, weight, ops.zeros_like(weight))
        elif padding == "reflection":
            place = reflect_places(place, size, corners)
        made.append((ops.minimum(ops.maximum(place, 0), size - 1), weight))
    return made


def reflect_places(place: Any, size: int, corners: bool) -> Any:
    """Reflects coordinates outside of an axis at its ends.

    If `corners` is true, the ends are the centers of the first and the last pixel. Otherwise the
    ends are the outer edges of these two pixels.
    """
    period = (2 * size - 2 if size > 1 else 1) if corners else 2 * size
    place = ops.floor_mod(place, period)
    return ops.minimum(place, period - place if corners else period - 1 - place)


def inner_cubic(d: Any) -> Any:
    """Returns Keys' cubic filter at a distance up to 1."""
    return ((_CUBIC_A + 2.0) * d - (_CUBIC_A + 3.0)) * d * d + 1.0


def outer_cubic(d: Any) -> Any:
    """Returns Keys' cubic filter at a distance from 1 to 2."""
    return ((_CUBIC_A * d - 5.0 * _CUBIC_A) * d + 8.0 * _CUBIC_A) * d - 4.0 * _CUBIC_A
