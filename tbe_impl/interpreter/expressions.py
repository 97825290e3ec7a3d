"""Evaluates the scalar expressions of a stage over index grids, for stages without a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import BINARY_FUNCTIONS, Array, convert, identity_element, reduce
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, IterVar, Read, Reduce, Select, Var
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.tensor import Operation
from tbe_impl.errors import InputError


@dataclass(frozen=True)
class Scope:
    """The environment of an evaluation.

    Attributes:
        arrays: ``id`` of a tensor → its array.
        values: ``id`` of a variable → its value.
        constant: converts a number to an array in the working dtype of the given dtype.
        rounded: rounds an array to the given dtype and converts it to the working dtype.
        working_dtype: maps a dtype to the NumPy dtype in which its values are held.
    """

    arrays: Mapping[int, Array]
    values: Mapping[int, Any]
    constant: Callable[[Any, str], Array]
    rounded: Callable[[Any, str], Array]
    working_dtype: Callable[[str], np.dtype[Any]]


def evaluate_scalar(expression: Expr, values: Mapping[int, Any]) -> Any:
    """Evaluates an expression of constants and variables.

    Raises:
        InputError: the value of a variable is missing, or the expression has another kind of node.
    """
    if isinstance(expression, Const):
        return expression.value
    if isinstance(expression, Var):
        try:
            return values[id(expression)]
        except KeyError:
            raise InputError(f"the value of {expression.name} is not known") from None
    if isinstance(expression, Cast):
        inner = evaluate_scalar(expression.value, values)
        return float(inner) if is_float(expression.dtype) else int(inner)
    if isinstance(expression, Select):
        condition, a, b = expression.children
        return evaluate_scalar(a if evaluate_scalar(condition, values) else b, values)
    if isinstance(expression, Binary):
        a, b = evaluate_scalar(expression.a, values), evaluate_scalar(expression.b, values)
        return np.asarray(BINARY_FUNCTIONS[expression.op](a, b)).item()
    if isinstance(expression, Call):
        arguments = [np.asarray(evaluate_scalar(item, values)) for item in expression.args]
        return np.asarray(FUNCTIONS[expression.name].numpy(*arguments)).item()
    raise InputError(f"{expression} is no number of the shape or an attribute")


def evaluate(op: Operation, scope: Scope) -> tuple[Array, ...]:
    """Computes the outputs of a stage from its scalar expressions."""
    axes = (*op.axis, *op.reduce_axis)
    sizes = [int(evaluate_scalar(axis.extent, scope.values)) for axis in axes]
    outer = tuple(sizes[: len(op.axis)])
    grid: dict[int, Array] = {}
    for position, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        start = int(evaluate_scalar(axis.dom.min, scope.values)) if axis.dom is not None else 0
        shape = [1] * len(axes)
        shape[position] = size
        grid[id(axis)] = np.arange(start, start + size, dtype=np.int64).reshape(shape)
    found = _Grid(grid, {id(axis): position for position, axis in enumerate(axes)}, scope)
    results = []
    for body in op.body:
        if not isinstance(body, Reduce):
            value = found.value(body)
            # the value is 0-d if the body uses no axis
            results.append(np.broadcast_to(value.reshape(value.shape[: len(outer)]), outer))
            continue
        source = np.broadcast_to(found.value(body.source), sizes)
        if body.condition is not None:
            holds = np.broadcast_to(found.value(body.condition), sizes)
            source = np.where(
                holds, source, np.asarray(identity_element(body.op, source.dtype), source.dtype)
            )
        results.append(reduce(body.op, source, tuple(range(len(outer), len(sizes)))))
    return tuple(results)


class _Grid:
    """Evaluates expressions at all points of a stage's iteration space.

    Each axis of the stage varies along its own dimension of the arrays.
    """

    def __init__(self, grid: Mapping[int, Array], places: Mapping[int, int], scope: Scope):
        self.grid, self.places, self.scope = grid, places, scope
        self.known: dict[int, Array] = {}

    def value(self, node: Expr) -> Array:
        """Evaluates an expression at every point; common subexpressions are evaluated once."""
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
            return scope.constant(evaluate_scalar(node, scope.values), node.dtype)
        if isinstance(node, Read):
            return self._read(node)
        if isinstance(node, Cast):
            return scope.rounded(self.value(node.value), node.dtype)
        if isinstance(node, Select):
            condition, a, b = (self.value(child) for child in node.children)
            return np.where(condition, a, b)
        if isinstance(node, Binary):
            found = BINARY_FUNCTIONS[node.op](self.value(node.a), self.value(node.b))
        else:
            assert isinstance(node, Call), node
            found = FUNCTIONS[node.name].numpy(*(self.value(item) for item in node.args))
        # int32 indices stay int64, because an intermediate product may overflow int32
        index = not is_float(node.dtype) and np.asarray(found).dtype == np.int64
        return (
            np.asarray(found)
            if index and node.dtype == "int32"
            else convert(np.asarray(found), scope.working_dtype(node.dtype))
        )

    def _read(self, node: Read) -> Array:
        array = self.scope.arrays[id(node.tensor)]
        whole = self._transposed_view(array, node)
        if whole is not None:
            return whole
        indices = np.broadcast_arrays(*(self.value(index) for index in node.indices))
        if not node.indices:
            return array
        if array.size == 0:
            return np.zeros(indices[0].shape, array.dtype)
        # an out-of-bounds read is clipped; a select or a condition discards its value
        clipped = [
            np.clip(index, 0, size - 1) for index, size in zip(indices, array.shape, strict=True)
        ]
        found: Array = array[tuple(clipped)]
        return found

    def _transposed_view(self, array: Array, node: Read) -> Array | None:
        """Returns the values of a read as a transposed view of the array.

        None unless every index of the read is a distinct axis that covers the whole dimension.
        """
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
