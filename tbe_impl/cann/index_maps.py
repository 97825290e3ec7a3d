"""Expresses stages that only move elements by the CANN operations that move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Const, Expr, Read
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Operation, Tensor


def lower_index_map(op: Operation) -> Tensor | None:
    """Lowers a stage with the body ``x[…]`` to ``split``, ``transpose`` and ``broadcast``.

    Each index has to be a constant, or an axis of the stage plus a constant. If no index uses an
    axis of the stage, the elements repeat along this axis. Returns None for any other stage, and
    for a stage with sizes that are not static. Also returns None for a stage that removes axes,
    because no CANN operation removes axes.
    """
    body = op.body[0] if op.body else None
    shape = _static_sizes(op.shape)
    if not isinstance(body, Read) or shape is None or _static_sizes(body.tensor.shape) is None:
        return None
    numbers = {id(axis): number for number, axis in enumerate(op.axis)}
    found = [_axis_and_start(index, numbers) for index in body.indices]
    order = [one[0] for one in found if one is not None]
    read = [axis for axis in order if axis is not None]
    lacking = len(shape) - len(order)
    if len(order) < len(found) or len(read) > len(set(read)) or lacking < 0:
        return None
    if any(axis < lacking for axis in read):
        return None
    moved = body.tensor
    for axis, one in enumerate(found):
        assert one is not None
        moved = _slice(moved, axis, one[1], 1 if one[0] is None else shape[one[0]])
    single = iter([place for place, axis in enumerate(order) if axis is None])
    permutation = [
        order.index(axis) if axis in read else next(single) for axis in range(lacking, len(shape))
    ]
    if permutation != sorted(permutation):
        moved = OPERATIONS["transpose"](moved, permutation)
    moved = OPERATIONS["broadcast"](moved, shape)
    if moved is not body.tensor:
        return moved
    return OPERATIONS["vmuls"](moved, 1.0) if is_float(moved.dtype) else None


def _static_sizes(sizes: Sequence[Expr]) -> list[int] | None:
    if not all(isinstance(size, Const) for size in sizes):
        return None
    return [int(size.value) for size in sizes if isinstance(size, Const)]


def _axis_and_start(index: Expr, numbers: Mapping[int, int]) -> tuple[int | None, int] | None:
    """Splits an index into an axis of the stage and the constant that is added to the axis.

    Returns the pair (axis, constant); the axis is None for a constant index. Returns None for an
    index of another form.
    """
    if isinstance(index, Const):
        return None, int(index.value)
    if isinstance(index, Binary) and index.op == "add" and isinstance(index.b, Const):
        axis, start = numbers.get(id(index.a)), int(index.b.value)
    else:
        axis, start = numbers.get(id(index)), 0
    return None if axis is None else (axis, start)


def _slice(tensor: Tensor, axis: int, start: int, size: int) -> Tensor:
    whole = tensor.shape[axis]
    assert isinstance(whole, Const)
    if size == whole.value:
        return tensor
    parts = [start, size, int(whole.value) - start - size]
    place = 1 if start else 0
    return OPERATIONS["split"](tensor, axis, [part for part in parts if part])[1][place]
