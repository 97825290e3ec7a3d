"""Row maxima without NaN checks, where every value computed from them is NaN anyway.

So it is in softmax and its logarithm: a NaN is one in Σ exp(x − max) whatever the maximum, and all results are divided by that sum,
or lessened by its logarithm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tbe_impl.codegen.softmax_exponentials import followed, is_deficit, is_whole
from tbe_impl.dsl.expr import Binary, Call, Expr, Read, Reduce, identical, walk
from tbe_impl.dsl.tensor import Tensor, stages_of


def maxima_of_numbers(outputs: Sequence[Tensor]) -> frozenset[int]:
    """``id`` of those reductions in a graph."""
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
    """What reads what, in a graph."""

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

    def of(self, node: Expr) -> Iterator[Expr | None]:
        """The expressions that have its value for an operand, in this stage or in others; None where a result shows it."""
        yield from self._parents[id(node)]
        for tensor in self._results[id(node)]:
            if id(tensor) in self._shown:
                yield None
            for read in self._reads[id(tensor)]:
                yield from self.of(read)


class _Row(NamedTuple):
    """A row of numbers of which there is a maximum.

    Attributes:
        largest: the maximum.
        numbers: an element.
    """

    largest: Reduce
    numbers: Read

    def is_same(self, one: Sequence[Expr], other: Sequence[Expr]) -> bool:
        """Whether two elements are of one row: their indices but for the place in it."""
        axes = {id(axis) for axis in self.largest.axes}
        pairs = zip(one, other, self.numbers.indices, strict=True)
        return all(id(place) in axes or identical(a, b) for a, b, place in pairs)

    def element(self, node: Expr) -> Sequence[Expr] | None:
        """The indices of the element of which a value is the exponential of the deficit, or that."""
        *_, node = followed(node)
        if isinstance(node, Call) and node.name == "exp":
            return self.element(node.args[0])
        if isinstance(node, Binary) and node.op == "sub":
            for one in followed(node.a):
                if isinstance(one, Read) and one.tensor is self.numbers.tensor:
                    return one.indices
        return None

    def summed(self, node: Expr) -> Sequence[Expr] | None:
        """The indices of the elements over which a value sums exponentials; the whole row, or None."""
        *_, node = followed(node)
        if not isinstance(node, Reduce) or node.op != "sum" or node.condition is not None:
            return None
        *_, added = followed(node.source)
        if not isinstance(added, Call) or added.name != "exp":
            return None
        indices = self.element(added)
        if indices is None:
            return None
        places = {id(axis) for axis in self.largest.axes}
        own = {id(axis) for axis in node.axes}
        through: list[int] = []
        for here, there, size in zip(
            indices, self.numbers.indices, self.numbers.tensor.shape, strict=True
        ):
            if id(there) in places:
                if not (id(here) in own and is_whole(here, size)):
                    return None
                through.append(id(here))
        # each goes along the row, and along nothing else
        found = [id(one) for index in indices for one in walk(index) if id(one) in through]
        if len(found) != len(places):
            return None
        return indices


def _is_summed(largest: Reduce, numbers: Read, uses: _Uses) -> bool:
    row = _Row(largest, numbers)
    found = False
    for deficit in uses.of(largest):
        if not isinstance(deficit, Binary) or not is_deficit(deficit):
            return False
        for use in uses.of(deficit):
            if isinstance(use, Call) and use.name == "exp":
                if not all(_tells(row, one) for one in uses.of(use)):
                    return False
                found = True
            elif not _tells(row, use):
                return False
    return found


def _tells(row: _Row, use: Expr | None) -> bool:
    """Whether what is made of an exponential or a deficit is NaN where the sum of its row is."""
    if isinstance(use, Reduce):
        return row.summed(use) is not None
    if not isinstance(use, Binary):
        return False
    if use.op == "div":
        return _are_of_one_row(row, use.a, use.b)
    inverse = {"mul": "rec", "sub": "log"}.get(use.op)
    pairs = [(use.a, use.b), *([(use.b, use.a)] if use.op == "mul" else [])]
    for one, other in pairs:
        *_, call = followed(other)
        if (
            isinstance(call, Call)
            and call.name == inverse
            and _are_of_one_row(row, one, call.args[0])
        ):
            return True
    return False


def _are_of_one_row(row: _Row, one: Expr, total: Expr) -> bool:
    element, summed = row.element(one), row.summed(total)
    return element is not None and summed is not None and row.is_same(element, summed)
