"""The living definition: every stage computed by NumPy, one word after the other.

Three ways of rounding: ``accurate`` keeps float16 and bfloat16 results in float32 until an output or an explicit cast;
``device`` rounds each stage to its dtype, as the device does; ``float64`` computes every float in float64, as a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.dtypes import DTYPES, dtype_of, is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, IterVar, Read, Reduce, Select, Var
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.tensor import Operation, Tensor, stages_of
from tbe_impl.dsl.words import WORDS
from tbe_impl.errors import InputError

Array = np.ndarray
ROUNDINGS = ("accurate", "device", "float64")
CASTS = frozenset({"cast_to"})
"""Words after which a narrow float is really rounded, also by ``accurate``."""


def run(
    outputs: Sequence[Tensor],
    given: Mapping[int, Array],
    values: Mapping[int, int | float] | None = None,
    *,
    rounding: str = "accurate",
) -> tuple[Array, ...]:
    """The arrays of `outputs`.

    Args:
        outputs: tensors of the graph.
        given: ``id`` of a placeholder → its array.
        values: ``id`` of a variable → its number.
        rounding: one of `ROUNDINGS`.
    """
    state = _Run(given, values or {}, rounding)
    for op in stages_of(outputs):
        state.compute(op)
    return tuple(
        convert(state.arrays[id(tensor)], dtype_of(tensor.dtype).numpy) for tensor in outputs
    )


def convert(array: Array, dtype: np.dtype[Any]) -> Array:
    """`array` in another dtype: floats to integers are cut, saturate, and NaN becomes 0; integers wrap around.

    >>> convert(np.array([1e9, -1e9, np.nan, -2.7]), np.dtype("int8"))
    array([ 127, -128,    0,   -2], dtype=int8)
    """
    if array.dtype == dtype:
        return array
    if dtype.kind in "iu" and array.dtype.kind not in "iub":
        limits = np.iinfo(dtype)
        wide = array.astype(np.float64)
        cut = np.trunc(np.where(np.isnan(wide), 0, wide))
        inside = (cut >= float(limits.min)) & (cut <= float(limits.max)) & (cut < 2.0**63)
        whole = np.where(inside, cut, 0).astype(np.int64 if dtype.kind == "i" else np.uint64)
        edge = np.where(cut > 0, limits.max, limits.min).astype(dtype)
        if dtype == np.uint64:
            large = (cut >= 2.0**63) & (cut < 2.0**64)
            whole = np.where(large, cut, whole).astype(np.uint64)
            inside = inside | large
        return np.where(inside, whole.astype(dtype), edge)
    with np.errstate(all="ignore"):
        return array.astype(dtype)


class _Run:
    """The arrays of one evaluation."""

    def __init__(self, given: Mapping[int, Array], values: Mapping[int, Any], rounding: str):
        if rounding not in ROUNDINGS:
            raise InputError("unknown rounding", expected=" or ".join(ROUNDINGS), got=rounding)
        self.given, self.values, self.rounding = given, values, rounding
        self.arrays: dict[int, Array] = {}

    def working(self, dtype: str) -> np.dtype[Any]:
        """The NumPy dtype in which values of `dtype` are held."""
        if not is_float(dtype):
            return dtype_of(dtype).numpy
        if self.rounding == "float64":
            return np.dtype(np.float64)
        return np.dtype(np.float64 if dtype == "float64" else np.float32)

    def compute(self, op: Operation) -> None:
        """Compute the outputs of one operation."""
        if op.kind == "placeholder":
            (tensor,) = op.outputs
            self.arrays[id(tensor)] = self.given[id(tensor)].astype(self.working(tensor.dtype))
            return
        with np.errstate(all="ignore"):
            word = WORDS.get(op.word.name) if op.word else None
            if word is not None and word.formula is not None and op.word is not None:
                inputs = [self.arrays[id(tensor)] for tensor in op.word.inputs]
                parameters = {key: self._number(item) for key, item in op.word.parameters.items()}
                found = word.formula(*inputs, **parameters)
                results = found if isinstance(found, tuple) else (found,)
            else:
                results = _evaluate(op, self)
        casts = op.word is not None and op.word.name in CASTS
        for tensor, array in zip(op.outputs, results, strict=True):
            if casts or self.rounding == "device":
                array = convert(np.asarray(array), DTYPES[tensor.dtype].numpy) if self.rounding != "float64" else array  # fmt: skip
            self.arrays[id(tensor)] = convert(np.asarray(array), self.working(tensor.dtype))

    def _number(self, item: Any) -> Any:
        """A parameter of a word as NumPy takes it."""
        if isinstance(item, (list, tuple)):
            return type(item)(self._number(part) for part in item)
        if isinstance(item, Expr):
            found = scalar(item, self.values)
            return self.working(item.dtype).type(found) if not isinstance(found, str) else found
        return item


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
    if isinstance(expression, Binary):
        return np.asarray(_binary(expression, scalar(expression.a, values), scalar(expression.b, values))).item()  # fmt: skip
    if isinstance(expression, Call):
        arguments = [np.asarray(scalar(item, values)) for item in expression.args]
        return FUNCTIONS[expression.name].numpy(*arguments).item()
    raise InputError(f"{expression} is no number of the shape or an attribute")


def _binary(node: Binary, a: Any, b: Any) -> Any:
    if node.op == "div" and np.asarray(a).dtype.kind in "iub":
        return _truncated(a, b)
    return _BINARY[node.op](a, b)


def _truncated(a: Any, b: Any) -> Any:
    """Division of integers as C has it; by 0 it gives 0."""
    safe = np.where(np.equal(b, 0), 1, b)
    whole = np.floor_divide(np.abs(a), np.abs(safe)) * np.sign(a) * np.sign(safe)
    return np.where(np.equal(b, 0), 0, whole).astype(np.asarray(a).dtype)


def _integers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A division that gives 0 where an integer is divided by 0."""

    def guarded(a: Any, b: Any) -> Any:
        if np.asarray(b).dtype.kind not in "iu":
            return function(a, b)
        return np.where(np.equal(b, 0), 0, function(a, np.where(np.equal(b, 0), 1, b)))

    return guarded


_BINARY: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power,
    "floordiv": _integers(np.floor_divide), "floormod": _integers(np.mod), "truncdiv": _truncated,
    "truncmod": _integers(np.fmod), "max": np.maximum, "min": np.minimum, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "and": np.logical_and,
    "or": np.logical_or, "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip

_REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
}
IDENTITY = {"sum": 0, "prod": 1, "max": "lowest", "min": "highest"}


def _evaluate(op: Operation, state: _Run) -> tuple[Array, ...]:
    """A stage without a word: its expressions over whole grids of indices."""
    extents = [int(scalar(axis.extent, state.values)) for axis in op.axis]
    reduced = [int(scalar(axis.extent, state.values)) for axis in op.reduce_axis]
    grid: dict[int, Array] = {}
    rank = len(extents) + len(reduced)
    for position, axis in enumerate((*op.axis, *op.reduce_axis)):
        size = (*extents, *reduced)[position]
        start = int(scalar(axis.dom.min, state.values)) if axis.dom is not None else 0
        shape = [1] * rank
        shape[position] = size
        grid[id(axis)] = (np.arange(size) + start).reshape(shape)
    results = []
    for body in op.body:
        if isinstance(body, Reduce):
            source = np.broadcast_to(_value(body.source, grid, state), (*extents, *reduced))
            if body.condition is not None:
                holds = np.broadcast_to(_value(body.condition, grid, state), source.shape)
                source = np.where(holds, source, identity(body.op, source.dtype))
            axes = tuple(range(len(extents), rank))
            results.append(reduce(body.op, source, axes))
        else:
            results.append(np.broadcast_to(_value(body, grid, state), tuple(extents)).copy())
    return tuple(results)


def reduce(op: str, source: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """A reduction in the dtype of its source; of nothing it gives the identity."""
    found: Array = _REDUCTIONS[op](
        source,
        axis=axes,
        keepdims=keepdims,
        initial=identity(op, source.dtype),
        **({"dtype": source.dtype} if op in ("sum", "prod") else {}),
    )
    return found


def identity(op: str, dtype: np.dtype[Any]) -> Any:
    """What changes no result of the reduction."""
    known = IDENTITY[op]
    if not isinstance(known, str):
        return known
    if dtype.kind == "b":
        return known == "highest"
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if known == "lowest" else np.iinfo(dtype).max
    return -np.inf if known == "lowest" else np.inf


def _value(node: Expr, grid: Mapping[int, Array], state: _Run) -> Array:
    if isinstance(node, Const):
        return np.asarray(node.value, state.working(node.dtype))
    if isinstance(node, IterVar):
        return grid[id(node)]
    if isinstance(node, Var):
        return np.asarray(state.values[id(node)], state.working(node.dtype))
    if isinstance(node, Read):
        array = state.arrays[id(node.tensor)]
        indices = [_value(index, grid, state) for index in node.indices]
        # what is read outside the tensor counts only where a select throws it away
        clipped = [np.clip(index, 0, max(size - 1, 0)) for index, size in zip(indices, array.shape, strict=True)]  # fmt: skip
        found: Array = array[tuple(np.broadcast_arrays(*clipped))] if clipped else array
        return found
    if isinstance(node, Cast):
        inner = _value(node.value, grid, state)
        if state.rounding != "float64":
            inner = convert(inner, dtype_of(node.dtype).numpy)
        return convert(inner, state.working(node.dtype))
    if isinstance(node, Select):
        condition, a, b = (_value(child, grid, state) for child in node.children)
        chosen: Array = np.where(condition, a, b)
        return chosen
    if isinstance(node, Binary):
        a, b = _value(node.a, grid, state), _value(node.b, grid, state)
        found = np.asarray(_binary(node, a, b))
        return found if node.dtype == "bool" else convert(found, state.working(node.dtype))
    assert isinstance(node, Call)
    arguments = [_value(item, grid, state) for item in node.args]
    found = np.asarray(FUNCTIONS[node.name].numpy(*arguments))
    return found if node.dtype == "bool" else convert(found, state.working(node.dtype))
