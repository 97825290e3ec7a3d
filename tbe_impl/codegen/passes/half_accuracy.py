"""Finds calls that tolerate an error of 2^-18 because results are rounded to half precision.

The relative error of a product or quotient is about the sum of its operands' relative errors.
Roots, maxima, minima and sums of non-negative values do not increase relative errors. Differences,
comparisons, logarithms and exponentials can amplify the errors of their operands. Full accuracy is
therefore required for the operands of these four kinds of operations, and for float32 outputs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, Read, Reduce, Select
from tbe_impl.dsl.tensor import Tensor, stages_of

HALF_PRECISION_DTYPES = frozenset({"float16", "bfloat16"})
SHORT_FORM_FUNCTIONS = frozenset({"exp", "sigmoid"})
"""Functions that have a cheaper and less accurate (short) form, named ``…_to_half``.

The sigmoid of a half-precision operand always uses the short form.
"""
MAX_ERROR_COUNT = 8
"""Maximum number of short-form errors that may add up in one result.

An error of 8 · 2^-18 changes one float16 result in a hundred to the neighbouring value.
"""
_NONNEGATIVE_FUNCTIONS = frozenset(
    {"exp", "exp2", "abs", "sqrt", "rsqrt", "relu", "sigmoid", "cosh"}
)
_ERROR_PRESERVING_FUNCTIONS = frozenset({"abs", "neg", "relu", "rec", "rsqrt", "sqrt"})


def find_short_form_calls(outputs: Sequence[Tensor]) -> dict[int, str]:
    """Finds the calls in a graph for which a less accurate (short) form is accurate enough.

    Returns a dict from the ``id`` of each such call to the name of its short form. For example, the
    short form of ``exp`` is ``exp_to_half``. A reciprocal that is read only once has its own name,
    ``rec``, as its short form: x · (1 / y) may then be computed as x / y.
    """
    stages = stages_of(outputs)
    search = _ErrorPropagation(outputs)
    for op in stages:
        for tensor, body in zip(op.outputs, op.body, strict=False):
            if search.is_nonnegative(body):
                search.positive.add(id(tensor))
    for op in reversed(stages):
        for tensor, body in zip(op.outputs, op.body, strict=False):
            search.visit(body, search.counts[id(tensor)])
            if isinstance(body, Call) and body.name == "rec" and search.reads[id(tensor)] == 1:
                search.calls[id(body)] = "rec"
    return {
        call: name for call, name in search.calls.items() if search.counts[call] <= MAX_ERROR_COUNT
    }


class _ErrorPropagation:
    """Propagates errors backward, from outputs to calls.

    Attributes:
        counts: maps the ``id`` of a tensor or call to a number n. The relative error of the tensor
            or call contributes at most n times to the relative error of an output. n is infinite
            where full accuracy is required.
        reads: maps the ``id`` of a tensor to the number of its uses, including uses as an output.
        calls: maps the ``id`` of a call to the name of its short form.
        positive: ``id`` of the tensors whose elements are all non-negative or NaN.
    """

    def __init__(self, outputs: Sequence[Tensor]):
        self.counts: dict[int, float] = defaultdict(float)
        self.reads: dict[int, int] = defaultdict(int)
        self.calls: dict[int, str] = {}
        self.positive: set[int] = set()
        for tensor in outputs:
            self.counts[id(tensor)] += 1 if tensor.dtype in HALF_PRECISION_DTYPES else math.inf
            self.reads[id(tensor)] += 1

    def visit(self, node: Expr, count: float) -> None:
        """Visits a node whose relative error counts `count` times in the error of an output.

        Updates `counts` of the node and of the operands that pass on their errors.
        """
        if isinstance(node, Read):
            self.counts[id(node.tensor)] += count
            self.reads[id(node.tensor)] += 1
            parts: Sequence[Expr] = ()
            others: Sequence[Expr] = node.indices
        else:
            parts = self._error_carrying_operands(node)
            others = [child for child in node.children if not any(child is part for part in parts)]
            if isinstance(node, Call):
                self.counts[id(node)] += count
                if node.name in SHORT_FORM_FUNCTIONS:
                    self.calls[id(node)] = f"{node.name}_to_half"
        for part in parts:
            self.visit(part, count)
        for other in others:
            self.visit(other, math.inf)

    def _error_carrying_operands(self, node: Expr) -> Sequence[Expr]:
        """Returns those operands of a node whose relative errors the node does not amplify."""
        if isinstance(node, Call) and node.name in _ERROR_PRESERVING_FUNCTIONS:
            return node.args
        if isinstance(node, Cast) and is_float(node.dtype) and is_float(node.value.dtype):
            return (node.value,)
        if isinstance(node, Select):
            return (node.a, node.b)
        if isinstance(node, Reduce):
            summed = node.op == "sum" and self.is_nonnegative(node.source)
            return (node.source,) if summed or node.op in ("max", "min") else ()
        if isinstance(node, Binary):
            added = node.op == "add" and all(map(self.is_nonnegative, node.children))
            return node.children if added or node.op in ("mul", "div", "max", "min") else ()
        return ()

    def is_nonnegative(self, node: Expr) -> bool:
        """Returns whether a value is provably non-negative or NaN."""
        if isinstance(node, Const):
            return not isinstance(node.value, str) and float(node.value) >= 0
        if not is_float(node.dtype):
            return False  # integers wrap around
        if isinstance(node, Read):
            return id(node.tensor) in self.positive
        if isinstance(node, Call):
            return node.name in _NONNEGATIVE_FUNCTIONS or (
                node.name == "rec" and self.is_nonnegative(node.args[0])
            )
        if isinstance(node, (Cast, Reduce)):
            return self.is_nonnegative(node.children[0])
        if isinstance(node, Select):
            return self.is_nonnegative(node.a) and self.is_nonnegative(node.b)
        if isinstance(node, Binary) and node.op in ("add", "mul", "div", "max", "min"):
            return all(map(self.is_nonnegative, node.children))
        return False
