"""Finds results that are a unary function of one float16 value, and are worth a lookup table."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from tbe_impl.codegen.half_precision_tables import Function
from tbe_impl.dsl.array_semantics import BINARY
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, Read, Select
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.tensor import Tensor

LONG = frozenset(
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
"""Functions of which one is worth a table."""
OF_SEVERAL = frozenset({"sigmoid", "ndtr", "ndtr_tanh", "tanh_softplus"})
"""Those of them that are several operations where somebody computes them in float16."""
EXACT = frozenset({"abs", "neg", "relu", "sign", "floor", "ceil", "rint", "trunc"})
LEAST_ROUNDED = 2
"""Operations that round; a single one, computed in float32, is rounded better than a table gives it."""


def function_of(tensor: Tensor, stored: Container[int]) -> Function | None:
    """What an element of a result is of the element of the only float16 tensor it is made of.

    Args:
        tensor: the result, a float16 tensor.
        stored: ``id`` of the tensors that lie in memory; the others are computed where they are read.

    Returns:
        The function; None of results that are made of anything else, that are summed up or rounded on the way, or that need no
        long function or nothing beside it. That all is read at one place is for the caller to see.
    """
    body = tensor.op.body[tensor.value_index] if tensor.op.body else None
    if body is None or tensor.dtype != "float16":
        return None
    search = _Search(stored)
    # it is rounded when it is written
    found = search.place(body.value if isinstance(body, Cast) else body)
    is_worth_it = search.is_long and search.rounded >= LEAST_ROUNDED
    if found is None or not is_worth_it or len(search.sources) != 1:
        return None
    steps = search.steps[: found + 1]

    def function(x: np.ndarray) -> np.ndarray:
        values: list[Any] = []
        for compute, places in steps:
            values.append(compute(x, *(values[place] for place in places)))
        return np.asarray(values[-1])

    return function


class _Search:
    """Through a result's expression, as far as it is a formula.

    Attributes:
        steps: what is computed one after the other, of the number that is read and of what earlier steps gave.
        sources: ``id`` of the stored tensors that it reads.
        is_long: whether there is a long function in it.
        rounded: how many operations would round, were each computed in float16.
    """

    def __init__(self, stored: Container[int]):
        self.stored = stored
        self.steps: list[tuple[Callable[..., Any], Sequence[int]]] = []
        self.sources: set[int] = set()
        self.is_long = False
        self.rounded = 0
        self.known: dict[int, int | None] = {}

    def place(self, node: Expr) -> int | None:
        """The number of the step that computes a node; None where that is no formula of what is read."""
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
            # of what is rounded to another half type there is no smooth function
            is_exact = is_float(node.value.dtype) and node.dtype in (
                node.value.dtype,
                "float32",
                "float64",
            )
            return self.place(node.value) if is_exact else None
        if isinstance(node, Binary):
            self.rounded += not _is_exact(node)
            return self._of(BINARY[node.op], node)
        if isinstance(node, Select):
            return self._of(np.where, node)
        if isinstance(node, Call):
            self.is_long = self.is_long or node.name in LONG
            self.rounded += LEAST_ROUNDED if node.name in OF_SEVERAL else node.name not in EXACT
            return self._of(FUNCTIONS[node.name].numpy, node)
        return None

    def _read(self, tensor: Tensor) -> int | None:
        if id(tensor) not in self.stored:
            return self.place(tensor.op.body[tensor.value_index]) if tensor.op.body else None
        self.sources.add(id(tensor))
        return self._step(lambda x: x) if tensor.dtype == "float16" else None

    def _of(self, function: Callable[..., Any], node: Expr) -> int | None:
        places = [self.place(child) for child in node.children]
        known = [place for place in places if place is not None]
        return self._step(lambda x, *values: function(*values), known) if known == places else None

    def _step(self, compute: Callable[..., Any], places: Sequence[int] = ()) -> int:
        self.steps.append((compute, places))
        return len(self.steps) - 1


def _is_exact(node: Binary) -> bool:
    """Whether nothing is rounded in it: extremes, comparisons, and products with and quotients by powers of two."""
    if node.op in ("mul", "div"):
        factors = node.children if node.op == "mul" else (node.b,)
        numbers = [part.value for part in factors if isinstance(part, Const)]
        return any(abs(math.frexp(float(number))[0]) == 0.5 for number in numbers)
    return node.op not in ("add", "sub")
