"""Calls with an error of 2^-18, used where results are rounded to half precision.

A product or quotient has the relative errors of its operands, a sum of numbers that are not negative no larger ones, and
so have roots, extremes and sums of rows. Differences, comparisons, logarithms and further exponentials may make a small
error a large one: what those read is computed to the last place, and so is what float32 results show.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, Read, Reduce, Select
from tbe_impl.dsl.tensor import Tensor, stages_of

NARROW = frozenset({"float16", "bfloat16"})
SHORT = frozenset({"exp", "sigmoid"})
"""Functions that have a short form in ``vector_exponential.h``; sigmoid of half types is short anyway."""
COUNTED = 8
"""How often an error may count at most: 8 · 2^-18 moves one float16 result in a hundred to its neighbour."""
_POSITIVE = frozenset({"exp", "exp2", "abs", "sqrt", "rsqrt", "relu", "sigmoid", "cosh"})
_KEEPING = frozenset({"abs", "neg", "relu", "rec", "rsqrt", "sqrt"})


def short_calls(outputs: Sequence[Tensor]) -> dict[int, str]:
    """``id`` of the calls in a graph that may be computed by short forms → the function that does.

    Among them are inverses, under their own name, of which nothing but one product is made: that may be a quotient.
    """
    stages = stages_of(outputs)
    search = _Search(outputs)
    for op in stages:
        for tensor, body in zip(op.outputs, op.body, strict=False):
            if search.is_positive(body):
                search.positive.add(id(tensor))
    for op in reversed(stages):
        for tensor, body in zip(op.outputs, op.body, strict=False):
            search.visit(body, search.counts[id(tensor)])
            if isinstance(body, Call) and body.name == "rec" and search.reads[id(tensor)] == 1:
                search.calls[id(body)] = "rec"
    return {call: name for call, name in search.calls.items() if search.counts[call] <= COUNTED}


class _Search:
    """From results backwards.

    Attributes:
        counts: ``id`` of a tensor or call → how often a relative error of it counts in results; infinite where it shows.
        reads: ``id`` of a tensor → how often it is read, or handed out.
        calls: those that have a short form → its name.
        positive: ``id`` of tensors whose elements are known not to be negative; they may be NaN.
    """

    def __init__(self, outputs: Sequence[Tensor]):
        self.counts: dict[int, float] = defaultdict(float)
        self.reads: dict[int, int] = defaultdict(int)
        self.calls: dict[int, str] = {}
        self.positive: set[int] = set()
        for tensor in outputs:
            self.counts[id(tensor)] += 1 if tensor.dtype in NARROW else math.inf
            self.reads[id(tensor)] += 1

    def visit(self, node: Expr, count: float) -> None:
        """A node whose error counts so often."""
        if isinstance(node, Read):
            self.counts[id(node.tensor)] += count
            self.reads[id(node.tensor)] += 1
            parts: Sequence[Expr] = ()
            others: Sequence[Expr] = node.indices
        else:
            parts = self._sharing(node)
            others = [child for child in node.children if not any(child is part for part in parts)]
            if isinstance(node, Call):
                self.counts[id(node)] += count
                if node.name in SHORT:
                    self.calls[id(node)] = f"{node.name}_to_half"
        for part in parts:
            self.visit(part, count)
        for other in others:
            self.visit(other, math.inf)

    def _sharing(self, node: Expr) -> Sequence[Expr]:
        """The operands whose relative errors become those of the node, and no larger."""
        if isinstance(node, Call) and node.name in _KEEPING:
            return node.args
        if isinstance(node, Cast) and is_float(node.dtype) and is_float(node.value.dtype):
            return (node.value,)
        if isinstance(node, Select):
            return (node.a, node.b)
        if isinstance(node, Reduce):
            summed = node.op == "sum" and self.is_positive(node.source)
            return (node.source,) if summed or node.op in ("max", "min") else ()
        if isinstance(node, Binary):
            added = node.op == "add" and all(map(self.is_positive, node.children))
            return node.children if added or node.op in ("mul", "div", "max", "min") else ()
        return ()

    def is_positive(self, node: Expr) -> bool:
        """Whether a value is known not to be negative; it may be NaN."""
        if isinstance(node, Const):
            return not isinstance(node.value, str) and float(node.value) >= 0
        if not is_float(node.dtype):
            return False  # whole numbers wrap around
        if isinstance(node, Read):
            return id(node.tensor) in self.positive
        if isinstance(node, Call):
            return node.name in _POSITIVE or (node.name == "rec" and self.is_positive(node.args[0]))
        if isinstance(node, (Cast, Reduce)):
            return self.is_positive(node.children[0])
        if isinstance(node, Select):
            return self.is_positive(node.a) and self.is_positive(node.b)
        if isinstance(node, Binary) and node.op in ("add", "mul", "div", "max", "min"):
            return all(map(self.is_positive, node.children))
        return False
