"""Images in another size: each place of the new one is a weighted mean of places of the old one, axis by axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import Tensor, ops

from ms_fusion.onnx_cell.use import Use

NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5), "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip
SEPARATE_SIZES = 11
"""Version from which on Resize may be told sizes, and where places lie."""


def coordinates(mode: str, old: int, new: int, scale: float, region: tuple[float, float]) -> np.ndarray:  # fmt: skip
    """Where the places of an axis of the new image lie in the old one."""
    at = np.arange(new, dtype=np.float64)
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return at * ((old - 1) / (new - 1)) if new > 1 else at * 0.0
    if mode == "tf_crop_and_resize":
        first, last = (one * (old - 1) for one in region)
        return first + at * (last - first) / (new - 1) if new > 1 else at + (first + last) / 2
    half = (at + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return half if new > 1 else at * 0.0
    if mode == "half_pixel_symmetric":
        return half + old / 2 * (1 - new / (scale * old))
    return half


def hat(distance: np.ndarray, _: float) -> np.ndarray:
    """1 at 0, 0 from 1 on, and a line between."""
    return np.maximum(1 - np.abs(distance), 0.0)


def cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' piecewise cubic, 0 from 2 on."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = a * (((d - 5) * d + 8) * d - 4)
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def weights(at: np.ndarray, old: int, use: Use, scale: float) -> np.ndarray:
    """A row for each place of the new axis: what each place of the old one adds to it."""
    told, reach = (hat, 1) if use.attr("mode") == "linear" else (cubic, 2)
    narrowed = min(scale, 1.0) if use.attr("antialias", 0) else 1.0
    span = math.ceil(reach / narrowed)
    taps = np.floor(at)[:, None] + np.arange(-span, span + 2)
    found = told((taps - at[:, None]) * narrowed, float(use.attr("cubic_coeff_a", -0.75)))
    if use.attr("exclude_outside", 0):
        found = np.where((taps < 0) | (taps >= old), 0.0, found)
    found /= found.sum(1, keepdims=True)
    made = np.zeros((len(at), old))
    np.add.at(made, (np.arange(len(at))[:, None], np.clip(taps, 0, old - 1).astype(int)), found)
    return made


def _scales(use: Use) -> tuple[dict[int, float], dict[int, int]]:
    """Axis → by what it is multiplied, and its new size, of those that change."""
    named = use.whole("axes") or tuple(range(use.rank()))
    axes = tuple(axis % use.rank() for axis in named)
    place = 2 if use.version >= SEPARATE_SIZES and use.op == "Resize" else 1
    factors = use.numbers("scales", place if use.op == "Resize" or use.has(1) else None)
    if factors:
        told = {axis: float(one) for axis, one in zip(axes, factors, strict=True) if one != 1}
        return told, {axis: math.floor(_known(use, axis) * one) for axis, one in told.items()}
    sizes = dict(zip(axes, use.whole("sizes", 3) or (), strict=True))
    policy = use.attr("keep_aspect_ratio_policy", "stretch")
    ratios = {axis: size / _known(use, axis) for axis, size in sizes.items() if policy != "stretch" or use.value().shape[axis] != size}  # fmt: skip
    if policy != "stretch" and ratios:
        one = (min if policy == "not_larger" else max)(ratios.values())
        ratios = dict.fromkeys(ratios, one)
        sizes = {axis: math.floor(_known(use, axis) * one + 0.5) for axis in ratios}
    return ratios, {axis: sizes[axis] for axis in ratios}


def _known(use: Use, axis: int) -> int:
    size = use.value().shape[axis]
    if not isinstance(size, int) or size < 0:
        raise use.refused("a size is not known before the net runs")
    return size


def resized(use: Use) -> str:
    """``Resize``, and ``Upsample``, as it was called: known sizes, every mode."""
    scales, sizes = _scales(use)
    mode = str(use.attr("mode", "nearest"))
    where = str(use.attr("coordinate_transformation_mode", "half_pixel")) if use.op == "Resize" and use.version >= SEPARATE_SIZES else "asymmetric"  # fmt: skip
    nearest = str(use.attr("nearest_mode", "round_prefer_floor")) if where != "asymmetric" or use.version >= SEPARATE_SIZES else "floor"  # fmt: skip
    cut = where == "tf_crop_and_resize"
    region = use.numbers("roi", 1) if cut else None
    named = use.whole("axes") or tuple(range(use.rank()))
    text, outside = use.text(), np.zeros((1,) * use.rank(), bool)
    changed = sizes if not cut else {axis % use.rank(): sizes.get(axis % use.rank(), _known(use, axis % use.rank())) for axis in named}  # fmt: skip
    for axis, new in changed.items():
        old, scale = _known(use, axis), scales.get(axis, 1.0)
        own = [one % use.rank() for one in named].index(axis)
        ends = (float(region[own]), float(region[own + len(named)])) if region else (0.0, 1.0)
        at = coordinates(where, old, new, scale, ends)
        if cut:
            gone = (at < 0) | (at > old - 1)
            outside = outside | gone.reshape([-1 if other == axis else 1 for other in range(use.rank())])  # fmt: skip
        if mode == "nearest":
            places = np.clip(NEAREST[nearest](at), 0, old - 1).astype(np.int64)
            text = f"ops.gather({text}, {use.part('places', Tensor(places))}, {axis})"
        else:
            dtype = np.float64 if use.value().dtype == "float64" else np.float32
            table = use.part("weights", Tensor(weights(at, old, use, scale).T.astype(dtype)))
            text = f"resizing.mixed({text}, {table}, {axis})"
    if outside.any():
        table = use.part("outside", Tensor(outside))
        text = f"ops.where({table}, {float(use.attr('extrapolation_value', 0.0))}, {text})"
    return text


def mixed(x: Any, weights: Any, axis: int) -> Any:
    """An axis multiplied by a matrix."""
    if axis == x.ndim - 1:
        return ops.matmul(x, weights)
    return ops.swapaxes(ops.matmul(ops.swapaxes(x, axis, -1), weights), axis, -1)
