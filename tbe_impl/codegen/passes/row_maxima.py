"""Finds row maxima that need no NaN checks, as in softmax and log-softmax.

If a row contains a NaN, Σ exp(x − max) is NaN for any value of max. Softmax divides every element
by this sum, and log-softmax subtracts the logarithm of this sum from every element. Therefore,
every result of the row is NaN, even if the maximum ignores the NaN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tbe_impl.codegen.passes.softmax_exponentials import (
    follow_reads,
    is_full_range,
    is_shifted_by_maximum,
)
from tbe_impl.dsl.expr import Binary, Call, Expr, Read, Reduce, is_identical, walk
from tbe_impl.dsl.tensor import Tensor, stages_of


def find_maxima_without_nan_checks(outputs: Sequence[Tensor]) -> frozenset[int]:
    """Returns the ``id`` of the max reductions in a graph that need no NaN checks."""
    uses = _Uses(outputs)
    bodies = (body for op in stages_of(outputs) for body in op.body)
    return frozenset(
        id(body)
        for body in bodies
        if isinstance(body, Reduce)
        and body.op == "max"
        and isinstance(body.source, Read)
        and _is_summed(body, body.source, uses)
    )


class _Uses:
    """Def-use chains of a graph."""

    def __init__(self, outputs: Sequence[Tensor]):
        self._shown = {id(tensor) for tensor in outputs}
        self._parents: dict[int, list[Expr]] = defaultdict(list)
        self._results: dict[int, list[Tensor]] = defaultdict(list)
        self._reads: dict[int, list[Read]] = defaultdict(list)
        for op in stages_of(outputs):
            for tensor, body in zip(op.outputs, op.body, strict=False):
                self._results[id(body)].append(tensor)
                for node in walk(body):
                    if isinstance(node, Read):
                        self._reads[id(node.tensor)].append(node)
                    for child in node.children:
                        self._parents[id(child)].append(node)

    def consumers(self, node: Expr) -> Iterator[Expr | None]:
        """Yields the consumers of a node in all stages, and also None if the node is an output."""
        yield from self._parents[id(node)]
        for tensor in self._results[id(node)]:
            if id(tensor) in self._shown:
                yield None
            for read in self._reads[id(tensor)]:
                yield from self.consumers(read)


class _SoftmaxRow(NamedTuple):
    """A row and its maximum.

    Attributes:
        largest: the max reduction.
        numbers: operand of the max reduction. The operand is a read of one element of the row.
    """

    largest: Reduce
    numbers: Read

    def is_same(self, one: Sequence[Expr], other: Sequence[Expr]) -> bool:
        """Returns whether two elements are in one row: their indices differ only along the row."""
        axes = {id(axis) for axis in self.largest.axes}
        pairs = zip(one, other, self.numbers.indices, strict=True)
        return all(id(place) in axes or is_identical(a, b) for a, b, place in pairs)

    def deficit_indices(self, node: Expr) -> Sequence[Expr] | None:
        """Returns the indices of x if `node` is x − max or exp(x − max), otherwise None."""
        *_, node = follow_reads(node)
        if isinstance(node, Call) and node.name == "exp":
            return self.deficit_indices(node.args[0])
        if isinstance(node, Binary) and node.op == "sub":
            for one in follow_reads(node.a):
                if isinstance(one, Read) and one.tensor is self.numbers.tensor:
                    return one.indices
        return None

    def summed_indices(self, node: Expr) -> Sequence[Expr] | None:
        """Returns the indices of x if `node` is Σ exp(x − max) over a whole row, otherwise None."""
        *_, node = follow_reads(node)
        if not isinstance(node, Reduce) or node.op != "sum" or node.condition is not None:
            return None
        *_, added = follow_reads(node.source)
        if not isinstance(added, Call) or added.name != "exp":
            return None
        indices = self.deficit_indices(added)
        if indices is None:
            return None
        places = {id(axis) for axis in self.largest.axes}
        own = {id(axis) for axis in node.axes}
        through: list[int] = []
        for here, there, size in zip(
            indices, self.numbers.indices, self.numbers.tensor.shape, strict=True
        ):
            if id(there) in places:
                if not (id(here) in own and is_full_range(here, size)):
                    return None
                through.append(id(here))
        # each summation index occurs exactly once in the indices
        found = [id(one) for index in indices for one in walk(index) if id(one) in through]
        if len(found) != len(places):
            return None
        return indices


def _is_summed(largest: Reduce, numbers: Read, uses: _Uses) -> bool:
    row = _SoftmaxRow(largest, numbers)
    found = False
    for deficit in uses.consumers(largest):
        if not isinstance(deficit, Binary) or not is_shifted_by_maximum(deficit):
            return False
        for use in uses.consumers(deficit):
            if isinstance(use, Call) and use.name == "exp":
                if not all(_is_nan_with_sum(row, one) for one in uses.consumers(use)):
                    return False
                found = True
            elif not _is_nan_with_sum(row, use):
                return False
    return found


def _is_nan_with_sum(row: _SoftmaxRow, use: Expr | None) -> bool:
    """Returns whether `use` is NaN whenever the sum of exponentials over the row is NaN.

    `use` is a consumer of exp(x − max) or of x − max.
    """
    if isinstance(use, Reduce):
        return row.summed_indices(use) is not None
    if not isinstance(use, Binary):
        return False
    if use.op == "div":
        return _is_one_row(row, use.a, use.b)
    inverse = {"mul": "rec", "sub": "log"}.get(use.op)
    pairs = [(use.a, use.b), *([(use.b, use.a)] if use.op == "mul" else [])]
    for one, other in pairs:
        *_, call = follow_reads(other)
        if isinstance(call, Call) and call.name == inverse and _is_one_row(row, one, call.args[0]):
            return True
    return False


def _is_one_row(row: _SoftmaxRow, one: Expr, total: Expr) -> bool:
    element, summed = row.deficit_indices(one), row.summed_indices(total)
    return element is not None and summed is not None and row.is_same(element, summed)
