"""Elements at places that are computed: gathered, scattered, the largest ones, those that are not zero."""

from __future__ import annotations

from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor, ops

from ms_fusion.onnx_cell.operator_use import Use, number

SCATTERED = ("none", "add", "mul", "min", "max")


def gather_elements(use: Use) -> str:
    """``GatherElements``."""
    return f"places.gathered_elements({use.given(0, 1)}, {use.axis(0)})"


def gather_nd(use: Use) -> str:
    """``GatherND``."""
    return f"places.gathered_at({use.given(0, 1)}, {use.attr('batch_dims', 0)})"


def scatter_elements(use: Use) -> str:
    """``ScatterElements``, and ``Scatter``, as it was called."""
    return f'places.scattered_elements({use.given(0, 1, 2)}, {use.axis(0)}, "{_reduction(use)}")'


def scatter_nd(use: Use) -> str:
    """``ScatterND``."""
    return f'places.scattered_at({use.given(0, 1, 2)}, "{_reduction(use)}")'


def write(use: Use) -> str:
    """``TensorScatter``."""
    mode = str(use.attr("mode", "linear"))
    axis = int(use.attr("axis", -2)) % use.rank()
    return f"places.written({use.given(0, 1)}, {use.text(2) or None}, {axis}, {mode == 'circular'})"


def _reduction(use: Use) -> str:
    found = str(use.attr("reduction", "none"))
    if found not in SCATTERED:
        raise use.refused("its reduction is none of " + ", ".join(SCATTERED))
    return found


def top(use: Use) -> str:
    """``TopK``."""
    count = (use.whole("k", 1) or (1,))[0]
    made = f"places.largest({use.text()}, {count}, {use.axis(-1)}, {bool(use.attr('largest', 1))})"
    return made if len(use.node.outputs) > 1 else f"{made}[0]"


def compress(use: Use) -> str:
    """``Compress``."""
    axis = use.axis(0) if use.attr("axis") is not None else None
    return f"places.compressed({use.given(0, 1)}, {axis})"


def reverse_sequence(use: Use) -> str:
    """``ReverseSequence``."""
    return f"ops.reverse_sequence({use.text()}, ops.cast({use.text(1)}, mindspore.int64), {use.attr('time_axis', 0)}, {use.attr('batch_axis', 1)})"


def diagonal(use: Use) -> str:
    """``EyeLike``."""
    dtype = use.result().dtype
    return f"ops.cast(places.on_diagonal({use.text()}, {use.attr('k', 0)}), {use.dtype(dtype)})"


def padded(use: Use) -> str:
    """``Pad`` that repeats or mirrors what is there, takes something away, or is told while the net is compiled."""
    told = use.sizes.get(use.node.inputs[1]) if use.has(1) else None
    pads = () if told else use.whole("pads", 1) or ()
    axes = tuple(axis % use.rank() for axis in use.whole("axes", 3) or range(use.rank()))
    mode, text = str(use.attr("mode", "constant")), use.text()
    value = number((use.numbers("value", 2) or (0.0,))[0])
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
    if told or not all(isinstance(sizes[axis], int) and sizes[axis] > 0 for axis, _, _ in changed):  # type: ignore[operator]
        return f'places.widened({text}, {axes}, {told or pads}, "{mode}", {value})'
    for axis, before, behind in changed:
        found = around(mode, int(sizes[axis]), before, behind)
        text = f"ops.gather({text}, {use.part('places', Tensor(np.maximum(found, 0)))}, {axis})"
        if (found < 0).any():
            inside = along(found >= 0, axis, use.rank())
            text = f"ops.where({use.part('inside', Tensor(inside))}, {text}, {value})"
    return text


def along(row: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """A row along an axis of so many."""
    return row.reshape([-1 if other == axis else 1 for other in range(rank)])


@ops.constexpr
def places_around(mode: str, size: int, before: int, behind: int) -> Tensor:
    """What is gathered of an axis that is padded, while a net is compiled."""
    return Tensor(np.maximum(around(mode, size, before, behind), 0))


@ops.constexpr
def inside_of(size: int, before: int, behind: int, axis: int, rank: int) -> Tensor:
    """Which of these lie in the axis."""
    return Tensor(along(around("constant", size, before, behind) >= 0, axis, rank))


def widened(x: Any, axes: tuple[int, ...], pads: tuple[int, ...], mode: str, value: Any) -> Any:
    """x with so many places more before its axes and behind them, which follow from sizes; fewer where they are negative."""
    for own in range(len(axes)):
        axis, before, behind = axes[own], pads[own], pads[own + len(axes)]
        if before != 0 or behind != 0:
            size = x.shape[axis]
            x = ops.gather(x, places_around(mode, size, before, behind), axis)
            if mode == "constant" and (before > 0 or behind > 0):
                x = ops.where(inside_of(size, before, behind, axis, x.ndim), x, value)
    return x


def around(mode: str, size: int, before: int, behind: int) -> np.ndarray:
    """The place of an axis of so many that stands at each place of the padded one; −1 for the number that it is padded with."""
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


def counted_from_end(places: Any, size: Any) -> Any:
    """Places from 0 on; negative ones count from the end."""
    places = ops.cast(places, mindspore.int64)
    return ops.where(places < 0, places + size, places)


def gathered_elements(x: Any, places: Any, axis: int) -> Any:
    """The element of each place along an axis, the other places being its own."""
    return ops.gather_elements(x, axis, counted_from_end(places, x.shape[axis]))


def gathered_at(x: Any, places: Any, batches: int) -> Any:
    """Parts of x at rows of places; the first axes of both are the same ones."""
    sizes = mindspore.Tensor(x.shape[batches : batches + places.shape[-1]], mindspore.int64)
    places = counted_from_end(places, sizes)
    for axis in range(batches - 1, -1, -1):
        along = ops.reshape(
            ops.arange(x.shape[axis]), (1,) * axis + (-1,) + (1,) * (places.ndim - 1 - axis)
        )
        own = ops.broadcast_to(along, (*places.shape[:-1], 1))
        places = ops.concat((ops.cast(own, mindspore.int64), places), -1)
    return ops.gather_nd(x, places)


def scattered_elements(x: Any, places: Any, updates: Any, axis: int, reduction: str) -> Any:
    """x with elements changed at places along an axis, the other places being their own."""
    rows = []
    for other in range(x.ndim):
        if other == axis:
            rows.append(counted_from_end(places, x.shape[axis]))
        else:
            along = ops.reshape(
                ops.arange(places.shape[other]), (1,) * other + (-1,) + (1,) * (x.ndim - 1 - other)
            )
            rows.append(ops.cast(ops.broadcast_to(along, places.shape), mindspore.int64))
    return scattered_at(x, ops.stack(rows, -1), updates, reduction)


def scattered_at(x: Any, places: Any, updates: Any, reduction: str) -> Any:
    """x with parts changed at rows of places: set, or added, multiplied, the smaller or the larger one taken."""
    sizes = mindspore.Tensor(x.shape[: places.shape[-1]], mindspore.int64)
    places = counted_from_end(places, sizes)
    if reduction == "add":
        return ops.tensor_scatter_add(x, places, updates)
    if reduction == "mul":
        return ops.tensor_scatter_mul(x, places, updates)
    if reduction == "min":
        return ops.tensor_scatter_min(x, places, updates)
    if reduction == "max":
        return ops.tensor_scatter_max(x, places, updates)
    return ops.TensorScatterUpdate()(x, places, updates)


def written(x: Any, fresh: Any, starts: Any, axis: int, is_circular: bool) -> Any:
    """x with elements of an axis overwritten, each batch from its own place on; behind the last place comes the first, or none."""
    size, count = x.shape[axis], fresh.shape[axis]
    place = ops.expand_dims(ops.arange(size), 0)
    if starts is not None:
        place = place - ops.reshape(ops.cast(starts, mindspore.int64), (-1, 1))
    place = ops.floor_mod(place, size) if is_circular else place
    place = ops.reshape(place, (-1,) + (1,) * (axis - 1) + (size,) + (1,) * (x.ndim - 1 - axis))
    is_new = ops.logical_and(place >= 0, place < count)
    taken = ops.broadcast_to(ops.minimum(ops.maximum(place, 0), count - 1), x.shape)
    return ops.where(is_new, ops.gather_elements(fresh, axis, taken), x)


def largest(x: Any, count: int, axis: int, is_largest: bool) -> tuple[Any, Any]:
    """The largest elements along an axis, or the smallest, in order, and where they are; of equal ones the first."""
    order = in_order(x, axis, is_largest)
    places = ops.cast(ops.narrow(order, axis, 0, count), mindspore.int64)
    return ops.gather_elements(x, axis, places), places


def in_order(x: Any, axis: int, is_falling: bool) -> Any:
    """Where the elements along an axis are in order, of equal ones the first before the others."""
    size = x.shape[axis]
    if x.dtype != mindspore.float64 or size == 1:
        return ops.argsort(x, axis, is_falling)
    # MindSpore's argsort rounds them to float32, and its topk has equal ones in any order
    values, places = ops.topk(x, size, axis, is_falling)
    is_next = ops.not_equal(
        ops.narrow(values, axis, 1, size - 1), ops.narrow(values, axis, 0, size - 1)
    )
    first = ops.zeros_like(ops.narrow(places, axis, 0, 1))
    rank = ops.cumsum(ops.concat((first, ops.cast(is_next, first.dtype)), axis), axis)
    order = ops.argsort(ops.cast(rank, mindspore.int64) * size + places, axis)
    return ops.gather_elements(places, axis, ops.cast(order, mindspore.int64))


def on_diagonal(x: Any, beside: int) -> Any:
    """A matrix as large as x that holds True on a diagonal, so many places right of the main one."""
    rows = ops.expand_dims(ops.arange(x.shape[0]), 1)
    return ops.equal(ops.expand_dims(ops.arange(x.shape[1]), 0), rows + beside)


def not_zero(x: Any) -> Any:
    """Where elements are not 0: a row for each axis."""
    return ops.transpose(ops.cast(ops.nonzero(x), mindspore.int64), (1, 0))


def compressed(x: Any, is_kept: Any, axis: int | None) -> Any:
    """Parts of x along an axis for which something holds; of all elements in a row where none is named."""
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    return ops.gather(x, ops.reshape(ops.nonzero(is_kept), (-1,)), axis)
