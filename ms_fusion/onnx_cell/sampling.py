"""Images read at places that are computed: each is a weighted mean of those around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx_cell.operator_use import Use

MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "bilinear": "linear",
    "cubic": "cubic",
    "bicubic": "cubic",
}
_A = -0.75
"""Of the cubic between four places."""


def grid_sample(use: Use) -> str:
    """``GridSample``."""
    mode, padding = str(use.attr("mode", "linear")), str(use.attr("padding_mode", "zeros"))
    if mode not in MODES or padding not in ("zeros", "border", "reflection"):
        raise use.refused("a mode that ONNX has not")
    return f'sampling.sampled({use.given(0, 1)}, "{MODES[mode]}", "{padding}", {bool(use.attr("align_corners", 0))})'


def sampled(x: Any, grid: Any, mode: str, padding: str, corners: bool) -> Any:
    """x (images, channels, sides …) at places (images, new sides …, axes, the last one first) from −1 to 1."""
    sides = x.shape[2:]
    count = len(sides)
    places = ops.reshape(grid, (x.shape[0], -1, count))
    at = []
    for axis in range(count):
        own, size = places[:, :, count - 1 - axis], sides[axis]
        at.append((own + 1.0) / 2.0 * (size - 1) if corners else ((own + 1.0) * size - 1.0) / 2.0)
    found = read(x, at, mode, padding, corners)
    return ops.reshape(found, (*x.shape[:2], *grid.shape[1:-1]))


def read(x: Any, at: Sequence[Any], mode: str, padding: str, corners: bool) -> Any:
    """x (images, channels, sides …) at places (images, places) for each axis, counted in pixels: (images, channels, places)."""
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
    """The pixels of an axis that count for each place, and how much."""
    first = ops.round(at) if mode == "nearest" else ops.floor(at)
    part = at - first
    if mode == "nearest":
        weights = [(0, ops.ones_like(at))]
    elif mode == "linear":
        weights = [(0, 1.0 - part), (1, part)]
    else:
        weights = [
            (-1, far(part + 1.0)),
            (0, near(part)),
            (1, near(1.0 - part)),
            (2, far(2.0 - part)),
        ]
    made = []
    for step, weight in weights:
        place = ops.cast(first, mindspore.int64) + step
        if padding == "zeros":
            is_inside = ops.logical_and(place >= 0, place < size)
            weight = ops.where(is_inside, weight, ops.zeros_like(weight))
        elif padding == "reflection":
            place = mirrored(place, size, corners)
        made.append((ops.minimum(ops.maximum(place, 0), size - 1), weight))
    return made


def mirrored(place: Any, size: int, corners: bool) -> Any:
    """Places outside as those inside, by mirrors in the middle of the outer places or behind them."""
    period = (2 * size - 2 if size > 1 else 1) if corners else 2 * size
    place = ops.floor_mod(place, period)
    return ops.minimum(place, period - place if corners else period - 1 - place)


def near(d: Any) -> Any:
    """Keys' cubic at a distance up to 1."""
    return ((_A + 2.0) * d - (_A + 3.0)) * d * d + 1.0


def far(d: Any) -> Any:
    """Keys' cubic at a distance from 1 to 2."""
    return ((_A * d - 5.0 * _A) * d + 8.0 * _A) * d - 4.0 * _A
