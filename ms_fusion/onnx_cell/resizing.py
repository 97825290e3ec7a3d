"""Images in another size: each place of the new one is a weighted mean of places of the old one, axis by axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import mindspore
import numpy as np
from mindspore import Tensor, ops

from ms_fusion.onnx_cell.operator_use import Use

NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
SEPARATE_SIZES = 11
"""Version from which on Resize may be told sizes, and where places lie."""

HALVES = frozenset({"float16", "bfloat16"})


class Way(NamedTuple):
    """How an image is resized, as ONNX's attributes say; nets hold it as a plain tuple.

    Attributes:
        mode: ``nearest``, ``linear`` or ``cubic``.
        where: how places of the new image lie in the old one.
        nearest: how they are rounded.
        cubic_a: the coefficient of the cubic.
        antialias: whether it reaches as far as a place of a smaller image.
        exclude_outside: whether what lies outside of the image counts for nothing.
    """

    mode: str
    where: str
    nearest: str
    cubic_a: float
    antialias: bool
    exclude_outside: bool


def coordinates(
    mode: str, old: int, new: int, scale: float, region: tuple[float, float]
) -> np.ndarray:
    """Where the places of an axis of the new image lie in the old one; in float32 as ONNX Runtime, since a tie is to stay one."""
    at, by = np.arange(new, dtype=np.float32), np.float32(scale)
    half = (at + np.float32(0.5)) / by - np.float32(0.5)
    if mode == "asymmetric":
        found = at / by
    elif mode == "align_corners":
        found = at * np.float32(old - 1) / np.float32(max(new - 1, 1))
    elif mode == "tf_crop_and_resize":
        first, last = (one * (old - 1) for one in region)
        found = first + at * (last - first) / (new - 1) if new > 1 else at + (first + last) / 2
    elif mode == "pytorch_half_pixel":
        found = half if new > 1 else at * 0
    elif mode == "half_pixel_symmetric":
        found = half + np.float32(old / 2 * (1 - new / (scale * old)))
    else:
        found = half
    return np.asarray(found, np.float64)


def hat(distance: np.ndarray, _: float) -> np.ndarray:
    """1 at 0, 0 from 1 on, and a line between."""
    return np.maximum(1 - np.abs(distance), 0.0)


def cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' piecewise cubic, 0 from 2 on."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = a * (((d - 5) * d + 8) * d - 4)
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def weights(at: np.ndarray, old: int, way: Way, scale: float) -> np.ndarray:
    """A row for each place of the new axis: what each place of the old one adds to it."""
    told, reach = (hat, 1) if way.mode == "linear" else (cubic, 2)
    narrowed = min(scale, 1.0) if way.antialias else 1.0
    span = math.ceil(reach / narrowed)
    taps = np.floor(at)[:, None] + np.arange(-span, span + 2)
    found = told((taps - at[:, None]) * narrowed, way.cubic_a)
    if way.exclude_outside:
        found = np.where((taps < 0) | (taps >= old), 0.0, found)
    found /= found.sum(1, keepdims=True)
    made = np.zeros((len(at), old))
    np.add.at(made, (np.arange(len(at))[:, None], np.clip(taps, 0, old - 1).astype(int)), found)
    return made


def table(at: np.ndarray, old: int, way: Way, scale: float, *, is_double: bool) -> np.ndarray:
    """By what an axis is resized: the places that are gathered, or the matrix that it is multiplied by."""
    if way.mode == "nearest":
        return np.clip(NEAREST[way.nearest](at), 0, old - 1).astype(np.int64)
    return weights(at, old, way, scale).T.astype(np.float64 if is_double else np.float32)


def plan(
    shape: Sequence[Any],
    axes: Sequence[int],
    factors: Sequence[float] | None,
    sizes: Sequence[int] | None,
    policy: str,
) -> dict[int, tuple[int, float]]:
    """Axis → its new size, and by what it is multiplied, of those that change.

    Args:
        shape: of the image.
        axes: those that are told of.
        factors: by what each of these is multiplied; else `sizes`, which they have then.
        sizes: likewise.
        policy: ``stretch``, or which of the ratios all axes have, by ONNX's word for it.
    """
    if factors:
        told = {axis: float(one) for axis, one in zip(axes, factors, strict=True) if one != 1}
        return {axis: (math.floor(shape[axis] * one), one) for axis, one in told.items()}
    wanted = dict(zip(axes, sizes or (), strict=True))
    ratios = {
        axis: size / shape[axis]
        for axis, size in wanted.items()
        if policy != "stretch" or shape[axis] != size
    }
    if policy == "stretch" or not ratios:
        return {axis: (wanted[axis], one) for axis, one in ratios.items()}
    one = (min if policy == "not_larger" else max)(ratios.values())
    return {axis: (math.floor(shape[axis] * one + 0.5), one) for axis in ratios}


def _way(use: Use) -> Way:
    new = use.version >= SEPARATE_SIZES
    where = (
        str(use.attr("coordinate_transformation_mode", "half_pixel"))
        if use.op == "Resize" and new
        else "asymmetric"
    )
    nearest = (
        str(use.attr("nearest_mode", "round_prefer_floor"))
        if where != "asymmetric" or new
        else "floor"
    )
    a = float(use.attr("cubic_coeff_a", -0.75))
    return Way(
        str(use.attr("mode", "nearest")),
        where,
        nearest,
        a,
        bool(use.attr("antialias", 0)),
        bool(use.attr("exclude_outside", 0)),
    )


def resized(use: Use) -> str:
    """``Resize``, and ``Upsample``, as it was called: every mode; means of half precision are computed in float32."""
    dtype = use.value().dtype
    if use.attr("mode", "nearest") == "nearest" or dtype not in HALVES:
        return _resized(use)
    wide = replace(use, texts=(f"ops.cast({use.text()}, mindspore.float32)", *use.texts[1:]))
    return f"ops.cast({_resized(wide)}, {use.dtype(dtype)})"


def _resized(use: Use) -> str:
    way, cut = _way(use), use.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
    axes = tuple(axis % use.rank() for axis in use.whole("axes") or range(use.rank()))
    policy = str(use.attr("keep_aspect_ratio_policy", "stretch"))
    told = use.sizes.get(use.node.inputs[3]) if use.has(3) else None
    place = 2 if use.version >= SEPARATE_SIZES and use.op == "Resize" else 1
    factors = use.numbers("scales", place if use.op == "Resize" or use.has(1) else None) or None
    sizes = use.whole("sizes", 3) if told is None else None
    unknown = {axis for axis in axes if not _is_known(use.value().shape[axis])}
    open_ones = unknown & {
        axis for axis, one in zip(axes, factors or (2,) * len(axes), strict=True) if one != 1
    }
    if not cut and (told or open_ones):
        return f"resizing.resized_to({use.text()}, {axes}, {factors}, {told or sizes}, {policy!r}, {tuple(way)})"
    if told or (open_ones if not cut else unknown):
        raise use.refused("a size is not known before the net runs")
    changed = plan(use.value().shape, axes, factors, sizes, policy)
    return _cut(use, changed, axes, way) if cut else _fixed(use, use.text(), changed, way)


def _is_known(size: object) -> bool:
    return isinstance(size, int) and size >= 0


def _fixed(use: Use, text: str, changed: dict[int, tuple[int, float]], way: Way) -> str:
    """By tables that are parts of the net."""
    for axis, (new, scale) in changed.items():
        old = int(use.value().shape[axis])
        text = _mapped(
            use, text, coordinates(way.where, old, new, scale, (0.0, 1.0)), axis, way, scale
        )
    return text


def _mapped(use: Use, text: str, at: np.ndarray, axis: int, way: Way, scale: float) -> str:
    old = int(use.value().shape[axis])
    part = use.part(
        "places" if way.mode == "nearest" else "weights",
        Tensor(table(at, old, way, scale, is_double=use.value().dtype == "float64")),
    )
    return f"resizing.mapped({text}, {part}, {axis}, {way.mode!r})"


def _cut(use: Use, changed: dict[int, tuple[int, float]], axes: Sequence[int], way: Way) -> str:
    """A region in another size; what lies outside of the image is a number."""
    region, text, outside = use.numbers("roi", 1), use.text(), np.zeros((1,) * use.rank(), bool)
    for own, axis in enumerate(axes):
        old = int(use.value().shape[axis])
        new, scale = changed.get(axis, (old, 1.0))
        ends = (float(region[own]), float(region[own + len(axes)])) if region else (0.0, 1.0)
        at = coordinates(way.where, old, new, scale, ends)
        gone = (at < 0) | (at > old - 1)
        outside = outside | gone.reshape(
            [-1 if other == axis else 1 for other in range(use.rank())]
        )
        text = _mapped(use, text, at, axis, way, scale)
    if outside.any():
        part = use.part("outside", Tensor(outside))
        text = f"ops.where({part}, {float(use.attr('extrapolation_value', 0.0))}, {text})"
    return text


@ops.constexpr
def changed_axes(*told: Any) -> tuple[int, ...]:
    """Those that `plan` changes, while a net is compiled."""
    return tuple(plan(*told))


@ops.constexpr
def table_of(axis: int, is_double: bool, way: tuple[Any, ...], *told: Any) -> Tensor:
    """The `table` of an axis by that plan, while a net is compiled."""
    old, (new, scale) = told[0][axis], plan(*told)[axis]
    at = coordinates(way[1], old, new, scale, (0.0, 1.0))
    return Tensor(table(at, old, Way(*way), scale, is_double=is_double))


def resized_to(
    x: Any, axes: tuple[int, ...], factors: Any, sizes: Any, policy: str, way: tuple[Any, ...]
) -> Any:
    """An image in a size that follows from sizes; arguments are those of `plan`, and a `Way`."""
    shape = x.shape
    for axis in changed_axes(shape, axes, factors, sizes, policy):
        part = table_of(
            axis, x.dtype == mindspore.float64, way, shape, axes, factors, sizes, policy
        )
        x = mapped(x, part, axis, way[0])
    return x


def mapped(x: Any, table: Any, axis: int, mode: str) -> Any:
    """An axis by its table."""
    return ops.gather(x, table, axis) if mode == "nearest" else mixed(x, table, axis)


def mixed(x: Any, weights: Any, axis: int) -> Any:
    """An axis multiplied by a matrix."""
    if axis == x.ndim - 1:
        return ops.matmul(x, weights)
    return ops.swapaxes(ops.matmul(ops.swapaxes(x, axis, -1), weights), axis, -1)
