"""Emits MindSpore code for ONNX operators on indices: gather, scatter, top-k, nonzero, padding."""

from __future__ import annotations

from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor, ops

from ms_fusion.onnx.cell.operator_use import OperatorUse, python_literal

SCATTER_REDUCTIONS = ("none", "add", "mul", "min", "max")


def gather_elements(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``GatherElements``."""
    return f"places.gather_along_axis({use.input_texts(0, 1)}, {use.axis(0)})"


def gather_nd(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``GatherND``."""
    return f"places.gather_slices({use.input_texts(0, 1)}, {use.attr('batch_dims', 0)})"


def scatter_elements(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ``ScatterElements`` and its predecessor ``Scatter``."""
    return (
        f'places.scatter_along_axis({use.input_texts(0, 1, 2)}, {use.axis(0)}, "{_reduction(use)}")'
    )


def scatter_nd(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``ScatterND``."""
    return f'places.scatter_slices({use.input_texts(0, 1, 2)}, "{_reduction(use)}")'


def tensor_scatter(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``TensorScatter``."""
    mode = str(use.attr("mode", "linear"))
    axis = int(use.attr("axis", -2)) % use.rank()
    return (
        f"places.overwrite_along_axis({use.input_texts(0, 1)}, {use.text(2) or None}, {axis}, "
        f"{mode == 'circular'})"
    )


def _reduction(use: OperatorUse) -> str:
    found = str(use.attr("reduction", "none"))
    if found not in SCATTER_REDUCTIONS:
        raise use.refusal("its reduction is none of " + ", ".join(SCATTER_REDUCTIONS))
    return found


def top_k(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``TopK``."""
    count = (use.integers("k", 1) or (1,))[0]
    made = (
        f"places.select_top_k({use.text()}, {count}, {use.axis(-1)}, "
        f"{bool(use.attr('largest', 1))})"
    )
    return made if len(use.node.outputs) > 1 else f"{made}[0]"


def compress(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``Compress``."""
    axis = use.axis(0) if use.attr("axis") is not None else None
    return f"places.compress_along_axis({use.input_texts(0, 1)}, {axis})"


def reverse_sequence(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``ReverseSequence``."""
    return (
        f"ops.reverse_sequence({use.text()}, ops.cast({use.text(1)}, mindspore.int64), "
        f"{use.attr('time_axis', 0)}, {use.attr('batch_axis', 1)})"
    )


def eye_like(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``EyeLike``."""
    dtype = use.result().dtype
    return f"ops.cast(places.diagonal_mask({use.text()}, {use.attr('k', 0)}), {use.dtype(dtype)})"


def pad(use: OperatorUse) -> str:
    """Emits a ``Pad`` that `functions.pad` does not support.

    Such a ``Pad`` has a mode other than ``constant``, negative pads, computed pads, or the input
    ``axes``. Computed pads must be known when the net is compiled.
    """
    told = use.sizes.get(use.node.inputs[1]) if use.has(1) else None
    pads = () if told else use.integers("pads", 1) or ()
    axes = tuple(axis % use.rank() for axis in use.integers("axes", 3) or range(use.rank()))
    mode, text = str(use.attr("mode", "constant")), use.text()
    value = python_literal((use.numbers("value", 2) or (0.0,))[0])
    changed = (
        [
            one
            for one in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True)
            if any(one[1:])
        ]
        if pads
        else []
    )
    sizes = use.value().shape
    if told or not all(
        isinstance(sizes[axis], int) and sizes[axis] > 0  # type: ignore[operator]
        for axis, _, _ in changed
    ):
        return f'places.pad_unknown_sizes({text}, {axes}, {told or pads}, "{mode}", {value})'
    for axis, before, behind in changed:
        found = padding_sources(mode, int(sizes[axis]), before, behind)
        text = f"ops.gather({text}, {use.part('places', Tensor(np.maximum(found, 0)))}, {axis})"
        if (found < 0).any():
            inside = reshape_along_axis(found >= 0, axis, use.rank())
            text = f"ops.where({use.part('inside', Tensor(inside))}, {text}, {value})"
    return text


def reshape_along_axis(row: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """Reshapes a vector to `rank` axes; all axes except `axis` have size 1."""
    return row.reshape([-1 if other == axis else 1 for other in range(rank)])


@ops.constexpr
def padding_source_tensor(mode: str, size: int, before: int, behind: int) -> Tensor:
    """Returns the gather indices of a padded axis as a tensor.

    The function runs while a net is compiled.
    """
    return Tensor(np.maximum(padding_sources(mode, size, before, behind), 0))


@ops.constexpr
def inside_mask(size: int, before: int, behind: int, axis: int, rank: int) -> Tensor:
    """Returns a mask of a padded axis that is true at original positions and false in the padding.

    The function runs while a net is compiled.
    """
    return Tensor(
        reshape_along_axis(padding_sources("constant", size, before, behind) >= 0, axis, rank)
    )


def pad_unknown_sizes(
    x: Any, axes: tuple[int, ...], pads: tuple[int, ...], mode: str, value: Any
) -> Any:
    """Pads axes whose sizes are known only when the net is compiled. Negative pads crop an axis."""
    for own in range(len(axes)):
        axis, before, behind = axes[own], pads[own], pads[own + len(axes)]
        if before != 0 or behind != 0:
            size = x.shape[axis]
            x = ops.gather(x, padding_source_tensor(mode, size, before, behind), axis)
            if mode == "constant" and (before > 0 or behind > 0):
                x = ops.where(inside_mask(size, before, behind, axis, x.ndim), x, value)
    return x


def padding_sources(mode: str, size: int, before: int, behind: int) -> np.ndarray:
    """Returns the source index of each position of a padded axis.

    The index is −1 at positions with the padding constant.
    """
    at = np.arange(-before, size + behind)
    if mode == "edge":
        return np.clip(at, 0, size - 1)
    if mode == "wrap":
        return at % size
    if mode == "reflect":
        period = max(2 * (size - 1), 1)
        at = at % period
        return np.minimum(at, period - at) if size > 1 else at * 0
    return np.where((at >= 0) & (at < size), at, -1)


def normalize_indices(places: Any, size: Any) -> Any:
    """Converts indices to non-negative int64. Negative indices count from the end of the axis."""
    places = ops.cast(places, mindspore.int64)
    return ops.where(places < 0, places + size, places)


def gather_along_axis(x: Any, places: Any, axis: int) -> Any:
    """Gathers elements of `x` along `axis`, as ONNX's ``GatherElements`` does.

    Each element of `places` is an index along `axis`. The position of the element in `places` gives
    the indices along the other axes.
    """
    return ops.gather_elements(x, axis, normalize_indices(places, x.shape[axis]))


def gather_slices(x: Any, places: Any, batches: int) -> Any:
    """Gathers slices of `x` at the index vectors in the last axis of `places`.

    The first `batches` axes of `x` and of `places` are batch axes.
    """
    sizes = mindspore.Tensor(x.shape[batches : batches + places.shape[-1]], mindspore.int64)
    places = normalize_indices(places, sizes)
    for axis in range(batches - 1, -1, -1):
        along = ops.reshape(
            ops.arange(x.shape[axis]), (1,) * axis + (-1,) + (1,) * (places.ndim - 1 - axis)
        )
        own = ops.broadcast_to(along, (*places.shape[:-1], 1))
        places = ops.concat((ops.cast(own, mindspore.int64), places), -1)
    return ops.gather_nd(x, places)


def scatter_along_axis(x: Any, places: Any, updates: Any, axis: int, reduction: str) -> Any:
    """Scatters `updates` along `axis`, as ONNX's ``ScatterElements`` does.

    Each element of `places` is an index along `axis`. The position of the element in `places` gives
    the indices along the other axes.
    """
    rows = []
    for other in range(x.ndim):
        if other == axis:
            rows.append(normalize_indices(places, x.shape[axis]))
        else:
            along = ops.reshape(
                ops.arange(places.shape[other]), (1,) * other + (-1,) + (1,) * (x.ndim - 1 - other)
            )
            rows.append(ops.cast(ops.broadcast_to(along, places.shape), mindspore.int64))
    return scatter_slices(x, ops.stack(rows, -1), updates, reduction)


def scatter_slices(x: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Scatters slices into `x` at the index vectors in the last axis of `places`.

    `reduction` is none, add, mul, min or max.
    """
    sizes = mindspore.Tensor(x.shape[: places.shape[-1]], mindspore.int64)
    places = normalize_indices(places, sizes)
    if reduction == "add":
        return ops.tensor_scatter_add(x, places, updates)
    if reduction == "mul":
        return ops.tensor_scatter_mul(x, places, updates)
    if reduction == "min":
        return ops.tensor_scatter_min(x, places, updates)
    if reduction == "max":
        return ops.tensor_scatter_max(x, places, updates)
    return ops.TensorScatterUpdate()(x, places, updates)


def overwrite_along_axis(x: Any, fresh: Any, starts: Any, axis: int, is_circular: bool) -> Any:
    """Overwrites a part of `x` along an axis by `fresh`.

    `starts` has the index at which the part begins, for each sample of the batch. If `starts` is
    None, the part begins at index 0. If `is_circular` is true, positions wrap around at the end of
    the axis.
    """
    size, count = x.shape[axis], fresh.shape[axis]
    place = ops.expand_dims(ops.arange(size), 0)
    if starts is not None:
        place = place - ops.reshape(ops.cast(starts, mindspore.int64), (-1, 1))
    place = ops.floor_mod(place, size) if is_circular else place
    place = ops.reshape(place, (-1,) + (1,) * (axis - 1) + (size,) + (1,) * (x.ndim - 1 - axis))
    is_new = ops.logical_and(place >= 0, place < count)
    taken = ops.broadcast_to(ops.minimum(ops.maximum(place, 0), count - 1), x.shape)
    return ops.where(is_new, ops.gather_elements(fresh, axis, taken), x)


def select_top_k(x: Any, count: int, axis: int, is_largest: bool) -> tuple[Any, Any]:
    """Returns the `count` largest or smallest elements along an axis, and their indices.

    The sort is stable.
    """
    order = stable_argsort(x, axis, is_largest)
    places = ops.cast(ops.narrow(order, axis, 0, count), mindspore.int64)
    return ops.gather_elements(x, axis, places), places


def stable_argsort(x: Any, axis: int, is_falling: bool) -> Any:
    """Returns the indices that sort `x` along an axis; equal elements keep their order."""
    size = x.shape[axis]
    if x.dtype != mindspore.float64 or size == 1:
        return ops.argsort(x, axis, is_falling)
    # MindSpore's argsort rounds float64 to float32, and its topk is not stable. So topk sorts, and
    # argsort then orders equal elements by their index.
    values, places = ops.topk(x, size, axis, is_falling)
    is_next = ops.not_equal(
        ops.narrow(values, axis, 1, size - 1), ops.narrow(values, axis, 0, size - 1)
    )
    first = ops.zeros_like(ops.narrow(places, axis, 0, 1))
    rank = ops.cumsum(ops.concat((first, ops.cast(is_next, first.dtype)), axis), axis)
    order = ops.argsort(ops.cast(rank, mindspore.int64) * size + places, axis)
    return ops.gather_elements(places, axis, ops.cast(order, mindspore.int64))


def diagonal_mask(x: Any, beside: int) -> Any:
    """Returns a mask of the shape of `x` that is true on one diagonal.

    This diagonal is `beside` columns to the right of the main diagonal.
    """
    rows = ops.expand_dims(ops.arange(x.shape[0]), 1)
    return ops.equal(ops.expand_dims(ops.arange(x.shape[1]), 0), rows + beside)


def nonzero_places(x: Any) -> Any:
    """Returns the indices of the nonzero elements as a matrix with one row per axis."""
    return ops.transpose(ops.cast(ops.nonzero(x), mindspore.int64), (1, 0))


def compress_along_axis(x: Any, is_kept: Any, axis: int | None) -> Any:
    """Selects the slices of `x` along `axis` for which `is_kept` is true.

    If `axis` is None, elements of the flattened `x` are selected.
    """
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    return ops.gather(x, ops.reshape(ops.nonzero(is_kept), (-1,)), axis)
