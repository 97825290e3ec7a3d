"""Emits ONNX ``Resize`` axis by axis; a result pixel is a weighted mean of input pixels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import mindspore
import numpy as np
from mindspore import Tensor, ops

from ms_fusion.onnx.cell.operator_use import OperatorUse

ROUNDING_MODES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
SEPARATE_SIZES_OPSET = 11
"""First opset in which Resize has target sizes and coordinate transformation modes."""

HALF_DTYPES = frozenset({"float16", "bfloat16"})


class ResizeMode(NamedTuple):
    """The attributes of a Resize that select its mode.

    Generated nets pass these attributes as a plain tuple.

    Attributes:
        mode: ``nearest``, ``linear`` or ``cubic``.
        where: name of the transformation from result coordinates to input coordinates.
        nearest: name of the rounding of coordinates in the mode ``nearest``.
        cubic_a: the coefficient of the cubic filter.
        antialias: whether the filter is widened when downsampling.
        exclude_outside: whether pixels outside the image have weight 0.
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
    """Returns the input coordinate of each position of a result axis.

    `mode` is `ResizeMode.where`. `old` and `new` are the sizes of the input axis and of the result
    axis. `region` is (start, end) of the part of the axis that ``tf_crop_and_resize`` selects, as
    fractions of the axis. The computation is in float32 as in ONNX Runtime, so that ties are
    rounded in the same way.
    """
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
    """Returns the linear filter max(1 − |distance|, 0)."""
    return np.maximum(1 - np.abs(distance), 0.0)


def cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Returns Keys' piecewise cubic filter, which is 0 from distance 2 on."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = a * (((d - 5) * d + 8) * d - 4)
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def weights(at: np.ndarray, old: int, way: ResizeMode, scale: float) -> np.ndarray:
    """Returns the resize weights of an axis as a matrix (result positions, input positions).

    `at` contains the input coordinate of each result position, and `old` is the size of the input
    axis.
    """
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


def table(
    at: np.ndarray, old: int, way: ResizeMode, scale: float, *, is_double: bool
) -> np.ndarray:
    """Returns the table by which an axis is resized.

    In the mode ``nearest``, the table holds gather indices. In the other modes, the table is the
    weight matrix by which the axis is multiplied; its dtype is float64 if `is_double` is true, else
    float32. `at` and `old` are as for `weights`.
    """
    if way.mode == "nearest":
        return np.clip(ROUNDING_MODES[way.nearest](at), 0, old - 1).astype(np.int64)
    return weights(at, old, way, scale).T.astype(np.float64 if is_double else np.float32)


def plan(
    shape: Sequence[Any],
    axes: Sequence[int],
    factors: Sequence[float] | None,
    sizes: Sequence[int] | None,
    policy: str,
) -> dict[int, tuple[int, float]]:
    """Returns a dict from each axis whose size changes to the pair (new size, scale).

    Args:
        shape: shape of the image.
        axes: the axes to which `factors` or `sizes` refer.
        factors: the scale of each axis in `axes`; None if `sizes` is given.
        sizes: the target size of each axis in `axes`.
        policy: ``stretch``, ``not_larger`` or ``not_smaller``. Under ``not_larger`` and
            ``not_smaller``, all axes share one scale.
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


def _resize_mode(use: OperatorUse) -> ResizeMode:
    new = use.version >= SEPARATE_SIZES_OPSET
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
    return ResizeMode(
        str(use.attr("mode", "nearest")),
        where,
        nearest,
        a,
        bool(use.attr("antialias", 0)),
        bool(use.attr("exclude_outside", 0)),
    )


def resize(use: OperatorUse) -> str:
    """Emits ``Resize`` and its predecessor ``Upsample`` in every mode.

    Weighted means of half precision are computed in float32.
    """
    dtype = use.value().dtype
    if use.attr("mode", "nearest") == "nearest" or dtype not in HALF_DTYPES:
        return _emit_resize(use)
    wide = replace(use, texts=(f"ops.cast({use.text()}, mindspore.float32)", *use.texts[1:]))
    return f"ops.cast({_emit_resize(wide)}, {use.dtype(dtype)})"


def _emit_resize(use: OperatorUse) -> str:
    way, cut = _resize_mode(use), use.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
    axes = tuple(axis % use.rank() for axis in use.integers("axes") or range(use.rank()))
    policy = str(use.attr("keep_aspect_ratio_policy", "stretch"))
    told = use.sizes.get(use.node.inputs[3]) if use.has(3) else None
    place = 2 if use.version >= SEPARATE_SIZES_OPSET and use.op == "Resize" else 1
    factors = use.numbers("scales", place if use.op == "Resize" or use.has(1) else None) or None
    sizes = use.integers("sizes", 3) if told is None else None
    unknown = {axis for axis in axes if not _is_static_size(use.value().shape[axis])}
    open_ones = unknown & {
        axis for axis, one in zip(axes, factors or (2,) * len(axes), strict=True) if one != 1
    }
    if not cut and (told or open_ones):
        return (
            f"resizing.resize_to({use.text()}, {axes}, {factors}, {told or sizes}, {policy!r}, "
            f"{tuple(way)})"
        )
    if told or (open_ones if not cut else unknown):
        raise use.refusal("a size is not known before the net runs")
    changed = plan(use.value().shape, axes, factors, sizes, policy)
    return (
        _emit_crop_and_resize(use, changed, axes, way)
        if cut
        else _emit_static_resize(use, use.text(), changed, way)
    )


def _is_static_size(size: object) -> bool:
    return isinstance(size, int) and size >= 0


def _emit_static_resize(
    use: OperatorUse, text: str, changed: dict[int, tuple[int, float]], way: ResizeMode
) -> str:
    """Emits a resize with constant tables; a table is the gather indices or weights of an axis."""
    for axis, (new, scale) in changed.items():
        old = int(use.value().shape[axis])
        text = _emit_axis(
            use, text, coordinates(way.where, old, new, scale, (0.0, 1.0)), axis, way, scale
        )
    return text


def _emit_axis(
    use: OperatorUse, text: str, at: np.ndarray, axis: int, way: ResizeMode, scale: float
) -> str:
    old = int(use.value().shape[axis])
    part = use.part(
        "places" if way.mode == "nearest" else "weights",
        Tensor(table(at, old, way, scale, is_double=use.value().dtype == "float64")),
    )
    return f"resizing.apply_table({text}, {part}, {axis}, {way.mode!r})"


def _emit_crop_and_resize(
    use: OperatorUse, changed: dict[int, tuple[int, float]], axes: Sequence[int], way: ResizeMode
) -> str:
    """Emits a Resize with the mode ``tf_crop_and_resize``.

    Positions outside of the image get the extrapolation value.
    """
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
        text = _emit_axis(use, text, at, axis, way, scale)
    if outside.any():
        part = use.part("outside", Tensor(outside))
        text = f"ops.where({part}, {float(use.attr('extrapolation_value', 0.0))}, {text})"
    return text


@ops.constexpr
def changed_axes(*told: Any) -> tuple[int, ...]:
    """Returns the axes whose size a resize changes; runs while a net is compiled.

    `told` is the tuple of the arguments of `plan`.
    """
    return tuple(plan(*told))


@ops.constexpr
def table_of(axis: int, is_double: bool, way: tuple[Any, ...], *told: Any) -> Tensor:
    """Returns the `table` by which an axis is resized; runs while a net is compiled.

    `told` is the tuple of the arguments of `plan`. `way` is a `ResizeMode` as a plain tuple.
    """
    old, (new, scale) = told[0][axis], plan(*told)[axis]
    at = coordinates(way[1], old, new, scale, (0.0, 1.0))
    return Tensor(table(at, old, ResizeMode(*way), scale, is_double=is_double))


def resize_to(
    x: Any, axes: tuple[int, ...], factors: Any, sizes: Any, policy: str, way: tuple[Any, ...]
) -> Any:
    """Resizes an image to sizes that are known only when the net is compiled.

    The arguments are those of `plan`, and `way` is a `ResizeMode` as a plain tuple.
    """
    shape = x.shape
    for axis in changed_axes(shape, axes, factors, sizes, policy):
        part = table_of(
            axis, x.dtype == mindspore.float64, way, shape, axes, factors, sizes, policy
        )
        x = apply_table(x, part, axis, way[0])
    return x


def apply_table(x: Any, table: Any, axis: int, mode: str) -> Any:
    """Resizes an axis by its `table` of gather indices or weights."""
    return ops.gather(x, table, axis) if mode == "nearest" else multiply_axis(x, table, axis)


def multiply_axis(x: Any, weights: Any, axis: int) -> Any:
    """Multiplies an axis of `x` by a matrix."""
    if axis == x.ndim - 1:
        return ops.matmul(x, weights)
    return ops.swapaxes(ops.matmul(ops.swapaxes(x, axis, -1), weights), axis, -1)
