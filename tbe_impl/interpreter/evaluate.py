"""Evaluates a graph in NumPy, one DSL operation after the other: the living definition.

Three ways of rounding: ``accurate`` keeps float16 and bfloat16 results in float32 until an output or an explicit cast;
``device`` rounds each stage and each scalar to its dtype, as the device does; ``float64`` computes every float in
float64, as a reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array, convert
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Expr, reads
from tbe_impl.dsl.ext import word_named
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of
from tbe_impl.errors import InputError
from tbe_impl.interpreter.expressions import Scope, evaluate, scalar

ROUNDINGS = ("accurate", "device", "float64")
CASTS = frozenset({"cast_to"})
"""Words after which a narrow float is really rounded, also by ``accurate``."""


def run(
    outputs: Sequence[Tensor],
    given: Mapping[int, Array],
    values: Mapping[int, int | float] | None = None,
    *,
    rounding: str = "accurate",
    bodies: bool = False,
) -> tuple[Array, ...]:
    """The arrays of `outputs`.

    Args:
        outputs: tensors of the graph.
        given: ``id`` of a placeholder, or of another tensor that is there already → its array.
        values: ``id`` of a variable → its number.
        rounding: one of `ROUNDINGS`.
        bodies: evaluate the expressions also of stages whose word has a formula; both say the same.

    Raises:
        InputError: an input or the value of a variable is missing, or a shape is another at run time.
    """
    state = _Run(given, values or {}, rounding, bodies)
    for op in stages_of(outputs, given):
        state.compute(op)
    return tuple(
        # what comes out belongs to the caller: no view of an input or of a repeated element
        np.array(convert(state.arrays[id(tensor)], dtype_of(tensor.dtype).numpy), order="C")
        for tensor in outputs
    )


class _Run:
    """The arrays of one evaluation."""

    def __init__(
        self, given: Mapping[int, Array], values: Mapping[int, Any], rounding: str, bodies: bool
    ):
        if rounding not in ROUNDINGS:
            raise InputError("unknown rounding", expected=" or ".join(ROUNDINGS), got=rounding)
        self.given, self.values, self.rounding, self.bodies = given, values, rounding, bodies
        self.arrays: dict[int, Array] = {}

    def working(self, dtype: str) -> np.dtype[Any]:
        """The NumPy dtype in which values of `dtype` are held."""
        if not is_float(dtype):
            return dtype_of(dtype).numpy
        if self.rounding == "float64":
            return np.dtype(np.float64)
        return np.dtype(np.float64 if dtype == "float64" else np.float32)

    def rounded(self, value: Any, dtype: str) -> Array:
        """`value` as the dtype can hold it (not under ``float64``), in its working dtype."""
        array = np.asarray(value)
        if self.rounding != "float64" or not is_float(dtype):
            array = convert(array, dtype_of(dtype).numpy)
        return convert(array, self.working(dtype))

    def constant(self, value: Any, dtype: str) -> Array:
        """A scalar of the graph in its working dtype; ``device`` rounds it."""
        if self.rounding == "device":
            return self.rounded(value, dtype)
        return convert(np.asarray(value), self.working(dtype))

    def compute(self, op: Operation) -> None:
        """Compute the outputs of one operation."""
        if op.kind == "placeholder" or all(id(tensor) in self.given for tensor in op.outputs):
            for tensor in op.outputs:
                self._take(tensor)
            return
        with np.errstate(all="ignore"):
            results = self._results(op)
            explicit = self.rounding == "device" or (op.word is not None and op.word.name in CASTS)
            for tensor, array in zip(op.outputs, results, strict=True):
                keep = self.rounded if explicit else self._held
                self.arrays[id(tensor)] = keep(array, tensor.dtype)

    def _take(self, tensor: Tensor) -> None:
        if id(tensor) not in self.given:
            raise InputError(f"the input {tensor.name} is missing", place=str(tensor.op.location))
        array = convert(np.asarray(self.given[id(tensor)]), dtype_of(tensor.dtype).numpy)
        self.arrays[id(tensor)] = convert(array, self.working(tensor.dtype))

    def _held(self, array: Array, dtype: str) -> Array:
        return convert(np.asarray(array), self.working(dtype))

    def _results(self, op: Operation) -> tuple[Array, ...]:
        word = word_named(op.word.name) if op.word else None
        by_body = bool(op.body) and (
            self.bodies or word is None or word.formula is None or _reads_a_number(op)
        )
        if op.word is None or word is None or word.formula is None or by_body:
            scope = Scope(self.arrays, self.values, self.constant, self.rounded, self.working)
            return evaluate(op, scope)
        inputs = [self.arrays[id(tensor)] for tensor in op.word.inputs]
        parameters = {key: self._number(item) for key, item in op.word.parameters.items()}
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
            declared = tuple(int(scalar(size, self.values)) for size in tensor.shape)
            if np.shape(array) != declared:
                raise InputError(
                    f"{word.name} gives {tensor.name} another shape than declared",
                    place=str(op.location),
                    expected=shape_text(declared),
                    got=shape_text(np.shape(array)),
                )
        return results

    def _number(self, item: Any) -> Any:
        """A parameter of a word as NumPy takes it."""
        if isinstance(item, (list, tuple)):
            return type(item)(self._number(part) for part in item)
        if isinstance(item, Expr):
            found = scalar(item, self.values)
            return found if isinstance(found, str) else self.constant(found, item.dtype)[()]
        return item


def _reads_a_number(op: Operation) -> bool:
    """Whether a parameter of the word is an element of a tensor, which is known when the kernel runs only."""
    parameters = op.word.parameters.values() if op.word else ()
    return any(isinstance(item, Expr) and any(True for _ in reads(item)) for item in parameters)
