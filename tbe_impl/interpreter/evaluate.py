"""Evaluates a graph in NumPy, one DSL operation after the other: the reference semantics.

There are three rounding modes:

- ``accurate`` holds float16 and bfloat16 results in float32 until an output or an explicit cast;
- ``device`` rounds the result of each stage and each scalar to its dtype, as the device does;
- ``float64`` computes every float in float64, as a reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array, convert
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Expr, reads
from tbe_impl.dsl.ext import find_operation
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import InputError
from tbe_impl.interpreter.expressions import Scope, evaluate, evaluate_scalar

ROUNDINGS = ("accurate", "device", "float64")
CASTS = frozenset({"cast_to"})
"""DSL operations whose results are rounded to their dtype in ``accurate`` mode too."""


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
        given: ``id`` of a placeholder → its array. Other tensors that are computed already may be
            given too.
        values: ``id`` of a variable → its value.
        rounding: one of `ROUNDINGS`.
        bodies: whether to evaluate the scalar expressions of a stage even if its operation has a
            formula. Both give equivalent results.

    Returns:
        The arrays of `outputs`, in their dtypes.

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


class _Evaluation:
    """The state of one evaluation: the arrays that are computed so far."""

    def __init__(
        self, given: Mapping[int, Array], values: Mapping[int, Any], rounding: str, bodies: bool
    ):
        if rounding not in ROUNDINGS:
            raise InputError("unknown rounding", expected=" or ".join(ROUNDINGS), got=rounding)
        self.given, self.values, self.rounding, self.bodies = given, values, rounding, bodies
        self.arrays: dict[int, Array] = {}

    def working_dtype(self, dtype: str) -> np.dtype[Any]:
        """Returns the working dtype of `dtype`: the NumPy dtype in which its values are held."""
        if not is_float(dtype):
            return dtype_of(dtype).numpy
        if self.rounding == "float64":
            return np.dtype(np.float64)
        return np.dtype(np.float64 if dtype == "float64" else np.float32)

    def round_to_dtype(self, value: Any, dtype: str) -> Array:
        """Rounds `value` to `dtype` and converts it to the working dtype of `dtype`.

        In ``float64`` mode, floats are not rounded.
        """
        array = np.asarray(value)
        if self.rounding != "float64" or not is_float(dtype):
            array = convert(array, dtype_of(dtype).numpy)
        return convert(array, self.working_dtype(dtype))

    def constant(self, value: Any, dtype: str) -> Array:
        """Converts a scalar of the graph to the working dtype of `dtype`.

        In ``device`` mode it is rounded to `dtype` first.
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
            scope = Scope(
                self.arrays, self.values, self.constant, self.round_to_dtype, self.working_dtype
            )
            return evaluate(op, scope)
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
                    f"{word.name} gives {tensor.name} another shape than declared",
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
