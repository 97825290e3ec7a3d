"""Finds results that are a unary function of one float16 value and for which a table is faster."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from tbe_impl.codegen.passes.half_precision_tables import Function
from tbe_impl.dsl.array_semantics import BINARY_FUNCTIONS
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, Read, Select
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.tensor import Tensor

TABLE_WORTHY_FUNCTIONS = frozenset(
    {
        "exp",
        "exp2",
        "expm1",
        "log1p",
        "tanh",
        "sigmoid",
        "erf",
        "erfc",
        "ndtr",
        "ndtr_tanh",
        "tanh_softplus",
        "sin",
        "cos",
        "sinh",
        "cosh",
        "asinh",
        "atan",
    }
)
"""Functions that make a table profitable. A result that calls none of them gets no table."""
COMPOSITE_FUNCTIONS = frozenset({"sigmoid", "ndtr", "ndtr_tanh", "tanh_softplus"})
"""Functions that expand to several rounded operations in float16 arithmetic."""
EXACT_FUNCTIONS = frozenset({"abs", "neg", "relu", "sign", "floor", "ceil", "rint", "trunc"})
MIN_ROUNDING_OPERATIONS = 2
"""Minimum number of rounded operations for a table.

A single rounded operation, computed in float32, is more accurate than a table.
"""


def unary_function_of(tensor: Tensor, stored: Container[int]) -> Function | None:
    """Returns the function that computes an element of a result from one float16 input element.

    Returns None if the result has several inputs, or an input of another dtype. Returns None if the
    computation of the result contains a reduction or an intermediate rounding, or is too cheap for
    a table. The caller must check that all reads have the same address.

    Args:
        tensor: the result, a float16 tensor.
        stored: ``id`` of the tensors in memory; other tensors are inlined.
    """
    body = tensor.op.body[tensor.value_index] if tensor.op.body else None
    if body is None or tensor.dtype != "float16":
        return None
    search = _FormulaSearch(stored)
    # a final cast only rounds, which the store does anyway
    found = search.place(body.value if isinstance(body, Cast) else body)
    is_worth_it = search.is_long and search.rounded >= MIN_ROUNDING_OPERATIONS
    if found is None or not is_worth_it or len(search.sources) != 1:
        return None
    steps = search.steps[: found + 1]

    def function(x: np.ndarray) -> np.ndarray:
        values: list[Any] = []
        for compute, places in steps:
            values.append(compute(x, *(values[place] for place in places)))
        return np.asarray(values[-1])

    return function


class _FormulaSearch:
    """Searches a result's expression for a formula of one input.

    Attributes:
        steps: the operations in execution order. An operation is a pair (function, numbers of
            earlier steps). The function takes the input and the results of these earlier steps.
        sources: the ``id`` of each stored tensor that the expression reads.
        is_long: whether the expression contains a function in `TABLE_WORTHY_FUNCTIONS`.
        rounded: number of operations that would round in float16 arithmetic.
    """

    def __init__(self, stored: Container[int]):
        self.stored = stored
        self.steps: list[tuple[Callable[..., Any], Sequence[int]]] = []
        self.sources: set[int] = set()
        self.is_long = False
        self.rounded = 0
        self.known: dict[int, int | None] = {}

    def place(self, node: Expr) -> int | None:
        """Returns the index in `steps` of the step that computes a node.

        Missing steps are appended to `steps`. Returns None if the node contains an operation or a
        read that is not supported here.
        """
        if id(node) not in self.known:
            self.known[id(node)] = self._place(node)
        return self.known[id(node)]

    def _place(self, node: Expr) -> int | None:
        if isinstance(node, Const) and not isinstance(node.value, str):
            value = float(node.value) if is_float(node.dtype) else node.value
            return self._step(lambda x: np.full(x.shape, value))
        if isinstance(node, Read):
            return self._read(node.tensor)
        if isinstance(node, Cast):
            # rounding to the other half-precision type makes the function non-smooth
            is_exact = is_float(node.value.dtype) and node.dtype in (
                node.value.dtype,
                "float32",
                "float64",
            )
            return self.place(node.value) if is_exact else None
        if isinstance(node, Binary):
            self.rounded += not _is_exact(node)
            return self._apply(BINARY_FUNCTIONS[node.op], node)
        if isinstance(node, Select):
            return self._apply(np.where, node)
        if isinstance(node, Call):
            self.is_long = self.is_long or node.name in TABLE_WORTHY_FUNCTIONS
            self.rounded += (
                MIN_ROUNDING_OPERATIONS
                if node.name in COMPOSITE_FUNCTIONS
                else node.name not in EXACT_FUNCTIONS
            )
            return self._apply(FUNCTIONS[node.name].numpy, node)
        return None

    def _read(self, tensor: Tensor) -> int | None:
        if id(tensor) not in self.stored:
            return self.place(tensor.op.body[tensor.value_index]) if tensor.op.body else None
        self.sources.add(id(tensor))
        return self._step(lambda x: x) if tensor.dtype == "float16" else None

    def _apply(self, function: Callable[..., Any], node: Expr) -> int | None:
        places = [self.place(child) for child in node.children]
        known = [place for place in places if place is not None]
        return self._step(lambda x, *values: function(*values), known) if known == places else None

    def _step(self, compute: Callable[..., Any], places: Sequence[int] = ()) -> int:
        self.steps.append((compute, places))
        return len(self.steps) - 1


def _is_exact(node: Binary) -> bool:
    """Returns whether an operation never rounds, such as max, comparisons and scaling by 2ⁿ."""
    if node.op in ("mul", "div"):
        factors = node.children if node.op == "mul" else (node.b,)
        numbers = [part.value for part in factors if isinstance(part, Const)]
        return any(abs(math.frexp(float(number))[0]) == 0.5 for number in numbers)
    return node.op not in ("add", "sub")
