"""Matches the operators of two graphs of one program by structure, since names change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import operator_info

Origin = tuple[int, int] | int
"""The source of the value that an operator reads as an input.

An origin is either a pair (index of an operator, index of its output), or the hash of a constant or
of a graph input.
"""


@dataclass(frozen=True)
class BasicOperator:
    """A basic operator in a graph whose kernels are inlined.

    Attributes:
        node: the operator's node in the graph that contains it.
        container: full name of the kernel that contains the operator, or "" if none does.
        key: structural hash, which is equal for equal expressions over the same inputs.
        reads: for each input, the origin of the value, as described at `Origin`.
    """

    node: Node
    container: str
    key: int
    reads: tuple[Origin, ...] = ()

    @property
    def kind(self) -> tuple[str, str]:
        return kind_of(self.node)


def kind_of(node: Node) -> tuple[str, str]:
    """Returns a pair of operator types that identifies the kind of an operator.

    MindSpore's simplification preserves the pair. The first item is the operator's type after
    simplification. The second item is the type of the operator that was expanded into this
    operator, or "" if there is none.
    """
    return operator_info(node.op).mindspore.becomes or node.op, node.expand_from or ""


def flatten(graph: Graph) -> list[BasicOperator]:
    """Returns the basic operators of `graph` with its kernels inlined, in order."""
    basics: list[BasicOperator] = []
    outer: dict[str, Origin] = {
        name: _leaf_key(value) for name, value in graph.values.items() if value.kind != "result"
    }
    for node in graph:
        if node.body is None:
            _append(basics, node, "", outer, graph)
            continue
        inner: dict[str, Origin] = {
            name: _leaf_key(value)
            for name, value in node.body.values.items()
            if value.kind == "constant"
        }
        inner.update(
            zip(node.body.inputs, (outer.get(name, 0) for name in node.inputs), strict=False)
        )
        for member in node.body:
            _append(basics, member, node.name, inner, node.body)
        outer.update(
            zip(node.outputs, (inner.get(name, 0) for name in node.body.outputs), strict=False)
        )
    return basics


def _append(
    basics: list[BasicOperator], node: Node, container: str, known: dict[str, Origin], graph: Graph
) -> None:
    reads = tuple(known.get(name, 0) for name in node.inputs)
    shapes = tuple(graph.values[name].shape for name in node.outputs)
    keys = tuple(
        one if isinstance(one, int) else hash((basics[one[0]].key, one[1])) for one in reads
    )
    known.update({name: (len(basics), number) for number, name in enumerate(node.outputs)})
    basics.append(BasicOperator(node, container, hash((kind_of(node), shapes, keys)), reads))


def _leaf_key(value: Value) -> int:
    return hash((value.dtype, repr(value.data))) if value.kind == "constant" else hash(value.name)


def match_basics(
    before: Sequence[BasicOperator], after: Sequence[BasicOperator], home: Mapping[str, str]
) -> tuple[int | None, ...]:
    """Returns for each operator of `after` the index of its match in `before`, or None.

    First, operators with equal structural keys are matched. Then each remaining operator, from
    inputs to outputs, is matched with the operator of the same kind that has the most operands in
    common with it.

    Args:
        before: operators of the earlier graph.
        after: operators of the later graph.
        home: a dict from the name of a kernel in `after` to the name of the matching kernel in
            `before`. Operators outside of kernels match only operators outside of kernels.
    """
    search = _Search(before, after, home)
    for number in range(len(after)):
        search.match_by_key(number)
    for number in range(len(after)):
        if search.found[number] is None:
            search.match_nearest(number)
    return tuple(search.found)


class _Search:
    """State of the matching.

    Attributes:
        before, after, home: arguments of `match_basics`.
        found: for each operator of `after`, the index of its match in `before`, or None.
        free: a dict from the name of a kernel in `before` to the indices of its operators that have
            no match yet.
        by_key: a dict from (name of a kernel in `before`, structural key) to the indices of the
            kernel's operators with this key.
    """

    def __init__(
        self,
        before: Sequence[BasicOperator],
        after: Sequence[BasicOperator],
        home: Mapping[str, str],
    ):
        self.before, self.after, self.home = before, after, home
        self.found: list[int | None] = [None] * len(after)
        self.free: dict[str, list[int]] = defaultdict(list)
        self.by_key: dict[tuple[str, int], list[int]] = defaultdict(list)
        for number, basic in enumerate(before):
            self.free[basic.container].append(number)
            self.by_key[basic.container, basic.key].append(number)

    def home_of(self, number: int) -> str:
        """Returns the name of the kernel in `before` that may contain the match of an operator.

        `number` is the index of the operator in `after`. The result is "" if this operator is
        outside of kernels.
        """
        container = self.after[number].container
        return self.home.get(container, container)

    def match_by_key(self, number: int) -> None:
        """Matches operator `number` of `after` with an operator of `before` that has the same key.

        The match is the first operator with this key that has no match yet. If all such operators
        have a match, operator `number` stays without a match. This happens if another kernel
        computes the same operator again.
        """
        place = self.home_of(number)
        for match in self.by_key[place, self.after[number].key]:
            if match in self.free[place]:
                self.take(number, match, place)
                return

    def match_nearest(self, number: int) -> None:
        basic, place = self.after[number], self.home_of(number)
        free = [one for one in self.free[place] if self.before[one].kind == basic.kind]
        if free:
            self.take(
                number, max(free, key=lambda one: (self.shared_inputs(number, one), -one)), place
            )
        elif again := self.by_key[place, basic.key]:
            self.found[number] = again[0]
        elif basic.node.expand_from:
            self.found[number] = self.sibling(number)

    def take(self, number: int, match: int, place: str) -> None:
        self.found[number] = match
        self.free[place].remove(match)

    def shared_inputs(self, number: int, match: int) -> int:
        """Returns the number of operands that two operators share, in any order.

        If the operators are outside of kernels and have the same name, the result is a very large
        number.
        """
        if not self.after[number].container and (
            self.after[number].node.name == self.before[match].node.name
        ):
            return 1_000_000
        reads = Counter(map(self.resolve_origin, self.after[number].reads))
        return (reads & Counter(self.before[match].reads)).total()

    def resolve_origin(self, read: Origin) -> Origin | None:
        """Converts the origin of an operand in `after` to the corresponding origin in `before`.

        The result is None if the operator that computes the operand has no match in `before`. The
        origin of a constant or of a graph input is returned unchanged.
        """
        if isinstance(read, int):
            return read
        match = self.found[read[0]]
        return None if match is None else (match, read[1])

    def sibling(self, number: int) -> int | None:
        """Returns the index of the likely match of an expanded operator, or None.

        The likely match is an operator of `before` that has no match yet and was expanded from the
        same operator type. If there is no such operator, the result is the match of the nearest
        preceding operator in the same kernel.
        """
        basic, place = self.after[number], self.home_of(number)
        for one in self.free[place]:
            if self.before[one].kind[1] == basic.kind[1]:
                return one
        neighbours = (
            self.found[one]
            for one in range(number - 1, -1, -1)
            if self.after[one].container == basic.container
        )
        return next((match for match in neighbours if match is not None), None)
