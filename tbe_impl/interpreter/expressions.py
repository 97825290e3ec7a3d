"""Evaluates stages without a formula: their expressions over grids of indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import BINARY, Array, convert, identity, reduce
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, IterVar, Read, Reduce, Select, Var
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.tensor import Operation
from tbe_impl.errors import InputError


@dataclass(frozen=True)
class Scope:
    """What an expression is evaluated in.

    Attributes:
        arrays: ``id`` of a tensor → its array.
        values: ``id`` of a variable → its number.
        constant: from a number and a dtype to an array in the working dtype.
        rounded: likewise, rounded to the dtype first.
        working: the NumPy dtype in which values of a dtype are held.
    """

    arrays: Mapping[int, Array]
    values: Mapping[int, Any]
    constant: Callable[[Any, str], Array]
    rounded: Callable[[Any, str], Array]
    working: Callable[[str], np.dtype[Any]]


def scalar(expression: Expr, values: Mapping[int, Any]) -> Any:
    """The number that an expression of constants and variables has."""
    if isinstance(expression, Const):
        return expression.value
    if isinstance(expression, Var):
        try:
            return values[id(expression)]
        except KeyError:
            raise InputError(f"the value of {expression.name} is not known") from None
    if isinstance(expression, Cast):
        inner = scalar(expression.value, values)
        return float(inner) if is_float(expression.dtype) else int(inner)
    if isinstance(expression, Select):
        condition, a, b = expression.children
        return scalar(a if scalar(condition, values) else b, values)
    if isinstance(expression, Binary):
        a, b = scalar(expression.a, values), scalar(expression.b, values)
        return np.asarray(BINARY[expression.op](a, b)).item()
    if isinstance(expression, Call):
        arguments = [np.asarray(scalar(item, values)) for item in expression.args]
        return np.asarray(FUNCTIONS[expression.name].numpy(*arguments)).item()
    raise InputError(f"{expression} is no number of the shape or an attribute")


def evaluate(op: Operation, scope: Scope) -> tuple[Array, ...]:
    """The outputs of a stage, from its expressions."""
    axes = (*op.axis, *op.reduce_axis)
    sizes = [int(scalar(axis.extent, scope.values)) for axis in axes]
    outer = tuple(sizes[: len(op.axis)])
    grid: dict[int, Array] = {}
    for position, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        start = int(scalar(axis.dom.min, scope.values)) if axis.dom is not None else 0
        shape = [1] * len(axes)
        shape[position] = size
        grid[id(axis)] = np.arange(start, start + size, dtype=np.int64).reshape(shape)
    found = _Grid(grid, {id(axis): position for position, axis in enumerate(axes)}, scope)
    results = []
    for body in op.body:
        if not isinstance(body, Reduce):
            value = found.value(body)
            # a body that reads no axis has no dimensions of its own
            results.append(np.broadcast_to(value.reshape(value.shape[: len(outer)]), outer))
            continue
        source = np.broadcast_to(found.value(body.source), sizes)
        if body.condition is not None:
            holds = np.broadcast_to(found.value(body.condition), sizes)
            source = np.where(
                holds, source, np.asarray(identity(body.op, source.dtype), source.dtype)
            )
        results.append(reduce(body.op, source, tuple(range(len(outer), len(sizes)))))
    return tuple(results)


class _Grid:
    """All points of a stage at once: each axis is an array that varies along its own dimension."""

    def __init__(self, grid: Mapping[int, Array], places: Mapping[int, int], scope: Scope):
        self.grid, self.places, self.scope = grid, places, scope
        self.known: dict[int, Array] = {}

    def value(self, node: Expr) -> Array:
        """The value of an expression at every point; each node is computed once."""
        found = self.known.get(id(node))
        if found is None:
            found = self.known[id(node)] = self._compute(node)
        return found

    def _compute(self, node: Expr) -> Array:
        scope = self.scope
        if isinstance(node, Const):
            return scope.constant(node.value, node.dtype)
        if isinstance(node, IterVar):
            return self.grid[id(node)]
        if isinstance(node, Var):
            return scope.constant(scalar(node, scope.values), node.dtype)
        if isinstance(node, Read):
            return self._read(node)
        if isinstance(node, Cast):
            return scope.rounded(self.value(node.value), node.dtype)
        if isinstance(node, Select):
            condition, a, b = (self.value(child) for child in node.children)
            return np.where(condition, a, b)
        if isinstance(node, Binary):
            found = BINARY[node.op](self.value(node.a), self.value(node.b))
        else:
            assert isinstance(node, Call), node
            found = FUNCTIONS[node.name].numpy(*(self.value(item) for item in node.args))
        # indices stay int64: a product of two of them may pass int32 on its way
        index = not is_float(node.dtype) and np.asarray(found).dtype == np.int64
        return (
            np.asarray(found)
            if index and node.dtype == "int32"
            else convert(np.asarray(found), scope.working(node.dtype))
        )

    def _read(self, node: Read) -> Array:
        array = self.scope.arrays[id(node.tensor)]
        whole = self._whole(array, node)
        if whole is not None:
            return whole
        indices = np.broadcast_arrays(*(self.value(index) for index in node.indices))
        if not node.indices:
            return array
        if array.size == 0:
            return np.zeros(indices[0].shape, array.dtype)
        # what is read outside the tensor counts only where a select throws it away
        clipped = [
            np.clip(index, 0, size - 1) for index, size in zip(indices, array.shape, strict=True)
        ]
        found: Array = array[tuple(clipped)]
        return found

    def _whole(self, array: Array, node: Read) -> Array | None:
        """The array itself, its dimensions moved to those of the grid, when every index is an axis of full length."""
        places = [self.places.get(id(index)) for index in node.indices]
        if None in places or len(set(places)) != len(places):
            return None
        ranges = [self.grid[id(index)].reshape(-1) for index in node.indices]
        if any(
            len(r) != size or (size and r[0] != 0)
            for r, size in zip(ranges, array.shape, strict=True)
        ):
            return None
        order = sorted(range(len(places)), key=lambda position: places[position] or 0)
        shape = [1] * len(self.places)
        for position, size in zip(places, array.shape, strict=True):
            shape[position or 0] = size
        return array.transpose(order).reshape(shape)
