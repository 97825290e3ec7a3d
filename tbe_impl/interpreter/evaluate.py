"""Evaluates a graph in NumPy, one DSL operation after the other: the reference semantics.

There are three rounding modes:

- ``accurate`` holds float16 and bfloat16 results in float32 until an output or an explicit cast;
- ``device`` rounds each scalar, and the result of each stage, to its dtype, as the device does;
- ``float64`` computes every float in float64, as a reference.

A stage whose operation has no NumPy formula is computed from its scalar expressions. These
expressions are evaluated for all indices at once, on NumPy arrays of indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import BINARY_FUNCTIONS, Array, convert, identity_element, reduce
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    IterVar,
    Read,
    Reduce,
    Select,
    Var,
    reads,
)
from tbe_impl.dsl.ext import find_operation
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import InputError

ROUNDINGS = ("accurate", "device", "float64")
CASTS = frozenset({"cast_to"})
"""DSL operations whose results are rounded to their dtype also in ``accurate`` mode."""


def run(
    outputs: Sequence[Tensor],
    given: Mapping[int, Array],
    values: Mapping[int, int | float] | None = None,
    *,
    rounding: str = "accurate",
    bodies: bool = False,
) -> tuple[Array, ...]:
    """Evaluates a graph.

    Args:
        outputs: tensors of the graph.
        given: a dict from the ``id`` of each placeholder to its array. The dict may also contain
            other tensors whose arrays are already computed.
        values: a dict from the ``id`` of each variable to its value.
        rounding: one of `ROUNDINGS`.
        bodies: whether to evaluate the scalar expressions of a stage even if the operation of the
            stage has a NumPy formula. Both ways give equivalent results.

    Returns:
        A tuple with one array for each tensor of `outputs`, in the dtype of the tensor.

    Raises:
        InputError: an input or the value of a variable is missing, or the shape of a result differs
            from its declared shape.
    """
    state = _Evaluation(given, values or {}, rounding, bodies)
    for op in stages_of(outputs, given):
        state.compute(op)
    return tuple(
        # copy: the caller owns the result, so it must not be a view of an input
        np.array(convert(state.arrays[id(tensor)], dtype_of(tensor.dtype).numpy), order="C")
        for tensor in outputs
    )


_UNREAD_ARRAY = np.zeros(())


def run_stage(
    op: Operation, arrays: Sequence[Array], values: Mapping[int, int | float]
) -> tuple[Array, ...]:
    """Evaluates one stage, and returns one array for each output of the stage.

    Args:
        op: the operation to evaluate.
        arrays: an array for each of `op.input_tensors`.
        values: a dict from the ``id`` of each variable to its value.
    """
    # `run` needs an array for every output of a stage, but an unused output was never computed:
    # an array that is never read takes its place
    given = {id(tensor): _UNREAD_ARRAY for item in op.input_tensors for tensor in item.op.outputs}
    given |= {id(tensor): array for tensor, array in zip(op.input_tensors, arrays, strict=True)}
    return run(op.outputs, given, values)


class _Evaluation:
    """The state of one evaluation of a graph: the arrays that are computed so far."""

    def __init__(
        self, given: Mapping[int, Array], values: Mapping[int, Any], rounding: str, bodies: bool
    ):
        if rounding not in ROUNDINGS:
            raise InputError("unknown rounding", expected=" or ".join(ROUNDINGS), got=rounding)
        self.given, self.values, self.rounding, self.bodies = given, values, rounding, bodies
        self.arrays: dict[int, Array] = {}

    def working_dtype(self, dtype: str) -> np.dtype[Any]:
        """Returns the NumPy dtype of arrays that hold values of `dtype`.

        In ``accurate`` and ``device`` mode, the result is float32 for float16 and bfloat16. In
        ``float64`` mode, the result is float64 for every float dtype.
        """
        if not is_float(dtype):
            return dtype_of(dtype).numpy
        if self.rounding == "float64":
            return np.dtype(np.float64)
        return np.dtype(np.float64 if dtype == "float64" else np.float32)

    def round_to_dtype(self, value: Any, dtype: str) -> Array:
        """Rounds `value` to `dtype`; returns an array of the dtype `working_dtype(dtype)`.

        In ``float64`` mode, floats are not rounded.
        """
        array = np.asarray(value)
        if self.rounding != "float64" or not is_float(dtype):
            array = convert(array, dtype_of(dtype).numpy)
        return convert(array, self.working_dtype(dtype))

    def constant(self, value: Any, dtype: str) -> Array:
        """Converts a scalar of the graph to an array of the dtype `working_dtype(dtype)`.

        In ``device`` mode, the scalar is rounded to `dtype` first.
        """
        if self.rounding == "device":
            return self.round_to_dtype(value, dtype)
        return convert(np.asarray(value), self.working_dtype(dtype))

    def compute(self, op: Operation) -> None:
        """Computes the outputs of one operation."""
        if op.kind == "placeholder" or all(id(tensor) in self.given for tensor in op.outputs):
            for tensor in op.outputs:
                self._take(tensor)
            return
        with np.errstate(all="ignore"):
            results = self._results(op)
            explicit = self.rounding == "device" or (
                op.dsl_call is not None and op.dsl_call.name in CASTS
            )
            for tensor, array in zip(op.outputs, results, strict=True):
                keep = self.round_to_dtype if explicit else self._to_working_dtype
                self.arrays[id(tensor)] = keep(array, tensor.dtype)

    def _take(self, tensor: Tensor) -> None:
        if id(tensor) not in self.given:
            raise InputError(f"the input {tensor.name} is missing", place=str(tensor.op.location))
        array = convert(np.asarray(self.given[id(tensor)]), dtype_of(tensor.dtype).numpy)
        self.arrays[id(tensor)] = convert(array, self.working_dtype(tensor.dtype))

    def _to_working_dtype(self, array: Array, dtype: str) -> Array:
        return convert(np.asarray(array), self.working_dtype(dtype))

    def _results(self, op: Operation) -> tuple[Array, ...]:
        word = find_operation(op.dsl_call.name) if op.dsl_call else None
        by_body = bool(op.body) and (
            self.bodies or word is None or word.formula is None or _has_scalar_read(op)
        )
        if op.dsl_call is None or word is None or word.formula is None or by_body:
            return _evaluate_bodies(op, self)
        inputs = [self.arrays[id(tensor)] for tensor in op.dsl_call.inputs]
        parameters = {key: self._number(item) for key, item in op.dsl_call.parameters.items()}
        try:
            found = word.formula(*inputs, **parameters)
        except (ValueError, IndexError) as error:
            raise InputError(
                f"{word.name} cannot be computed: {error}",
                place=str(op.location),
                got=", ".join(str(array.shape) for array in inputs),
            ) from error
        results = found if isinstance(found, tuple) else (found,)
        for tensor, array in zip(op.outputs, results, strict=True):
            declared = tuple(int(evaluate_scalar(size, self.values)) for size in tensor.shape)
            if np.shape(array) != declared:
                raise InputError(
                    f"{word.name} gives {tensor.name} a shape that differs from the declared one",
                    place=str(op.location),
                    expected=shape_text(declared),
                    got=shape_text(np.shape(array)),
                )
        return results

    def _number(self, item: Any) -> Any:
        """Converts a parameter of a DSL operation to a NumPy value."""
        if isinstance(item, (list, tuple)):
            return type(item)(self._number(part) for part in item)
        if isinstance(item, Expr):
            found = evaluate_scalar(item, self.values)
            return found if isinstance(found, str) else self.constant(found, item.dtype)[()]
        return item


def _has_scalar_read(op: Operation) -> bool:
    """Whether a parameter of the operation reads a tensor element."""
    parameters = op.dsl_call.parameters.values() if op.dsl_call else ()
    return any(isinstance(item, Expr) and any(True for _ in reads(item)) for item in parameters)


def evaluate_scalar(expression: Expr, values: Mapping[int, Any]) -> Any:
    """Evaluates an expression of constants and variables.

    Raises:
        InputError: the value of a variable is missing, or the expression reads a tensor element or
            an index.
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
    raise InputError(f"{expression} is not a number, a size or an attribute")


def _evaluate_bodies(op: Operation, state: _Evaluation) -> tuple[Array, ...]:
    """Computes the outputs of a stage from its scalar expressions."""
    axes = (*op.axis, *op.reduce_axis)
    sizes = [int(evaluate_scalar(axis.extent, state.values)) for axis in axes]
    outer = tuple(sizes[: len(op.axis)])
    grid: dict[int, Array] = {}
    for position, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        start = int(evaluate_scalar(axis.dom.min, state.values)) if axis.dom is not None else 0
        shape = [1] * len(axes)
        shape[position] = size
        grid[id(axis)] = np.arange(start, start + size, dtype=np.int64).reshape(shape)
    found = _Grid(grid, {id(axis): position for position, axis in enumerate(axes)}, state)
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

    The resulting arrays have one dimension for each axis of the stage.
    """

    def __init__(self, grid: Mapping[int, Array], places: Mapping[int, int], state: _Evaluation):
        self.grid, self.places, self.state = grid, places, state
        self.known: dict[int, Array] = {}

    def value(self, node: Expr) -> Array:
        """Evaluates an expression at every point; common subexpressions are evaluated once."""
        found = self.known.get(id(node))
        if found is None:
            found = self.known[id(node)] = self._compute(node)
        return found

    def _compute(self, node: Expr) -> Array:
        state = self.state
        if isinstance(node, Const):
            return state.constant(node.value, node.dtype)
        if isinstance(node, IterVar):
            return self.grid[id(node)]
        if isinstance(node, Var):
            return state.constant(evaluate_scalar(node, state.values), node.dtype)
        if isinstance(node, Read):
            return self._read(node)
        if isinstance(node, Cast):
            return state.round_to_dtype(self.value(node.value), node.dtype)
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
            else convert(np.asarray(found), state.working_dtype(node.dtype))
        )

    def _read(self, node: Read) -> Array:
        array = self.state.arrays[id(node.tensor)]
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
        return array[tuple(clipped)]

    def _transposed_view(self, array: Array, node: Read) -> Array | None:
        """Returns the values of a read as a transposed view of the array.

        Such a view exists if the indices are distinct axes of the stage, and if each axis covers a
        whole dimension of the array. Otherwise, returns None.
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
