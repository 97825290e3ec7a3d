"""The same operators found in two states of one program, by what they compute and from what; names do not last."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.graph import Graph, Node, Value

SAME_KIND = {"RealDiv": "Div", "BiasAdd": "Add"}
"""Basic operators that a simplification renames."""

Origin = tuple[int, int] | int
"""Where an input comes from: (number of the operator, number of its output), or a hash of what comes from outside."""


@dataclass(frozen=True)
class Basic:
    """A basic operator in a graph whose kernels have been opened.

    Attributes:
        container: full name of the kernel it lies in, "" outside of one.
        key: equal for two operators when the same operators compute the same thing from the same inputs.
        reads: where each input comes from.
    """

    node: Node
    container: str
    key: int
    reads: tuple[Origin, ...] = ()

    @property
    def kind(self) -> tuple[str, str]:
        return kind_of(self.node)


def kind_of(node: Node) -> tuple[str, str]:
    """What stays of an operator's type: its name, and what it was expanded from."""
    return SAME_KIND.get(node.op, node.op), node.expand_from or ""


def flatten(graph: Graph) -> list[Basic]:
    """The basic operators of `graph` with its kernels opened, in order."""
    basics: list[Basic] = []
    outer: dict[str, Origin] = {
        name: _leaf(value) for name, value in graph.values.items() if value.kind != "result"
    }
    for node in graph:
        if node.body is None:
            _append(basics, node, "", outer, graph)
            continue
        inner: dict[str, Origin] = {
            name: _leaf(value)
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
    basics: list[Basic], node: Node, container: str, known: dict[str, Origin], graph: Graph
) -> None:
    reads = tuple(known.get(name, 0) for name in node.inputs)
    shapes = tuple(graph.values[name].shape for name in node.outputs)
    keys = tuple(
        one if isinstance(one, int) else hash((basics[one[0]].key, one[1])) for one in reads
    )
    known.update({name: (len(basics), number) for number, name in enumerate(node.outputs)})
    basics.append(Basic(node, container, hash((kind_of(node), shapes, keys)), reads))


def _leaf(value: Value) -> int:
    return hash((value.dtype, repr(value.data))) if value.kind == "constant" else hash(value.name)


def match_basics(
    before: Sequence[Basic], after: Sequence[Basic], home: Mapping[str, str]
) -> tuple[int | None, ...]:
    """For each operator of `after` the number of the one in `before` that it was, or None.

    First those that are computed alike from the beginning on, then, from inputs to outputs, the one of the same kind that
    reads most of the same operators.

    Args:
        home: container in `after` → container in `before`; operators outside of all containers match each other.
    """
    search = _Search(before, after, home)
    for number in range(len(after)):
        search.alike(number)
    for number in range(len(after)):
        if search.found[number] is None:
            search.nearest(number)
    return tuple(search.found)


class _Search:
    """What is matched, and what is free, while two states are compared."""

    def __init__(self, before: Sequence[Basic], after: Sequence[Basic], home: Mapping[str, str]):
        self.before, self.after, self.home = before, after, home
        self.found: list[int | None] = [None] * len(after)
        self.free: dict[str, list[int]] = defaultdict(list)
        self.by_key: dict[tuple[str, int], list[int]] = defaultdict(list)
        for number, basic in enumerate(before):
            self.free[basic.container].append(number)
            self.by_key[basic.container, basic.key].append(number)

    def place(self, number: int) -> str:
        """The container of `before` that the operator came from."""
        container = self.after[number].container
        return self.home.get(container, container)

    def alike(self, number: int) -> None:
        """The first free one with the same key; what the compiler computes again in a second kernel has none."""
        place = self.place(number)
        for match in self.by_key[place, self.after[number].key]:
            if match in self.free[place]:
                self.take(number, match, place)
                return

    def nearest(self, number: int) -> None:
        basic, place = self.after[number], self.place(number)
        free = [one for one in self.free[place] if self.before[one].kind == basic.kind]
        if free:
            self.take(number, max(free, key=lambda one: (self.shared(number, one), -one)), place)
        elif again := self.by_key[place, basic.key]:
            self.found[number] = again[0]
        elif basic.node.expand_from:
            self.found[number] = self.sibling(number)

    def take(self, number: int, match: int, place: str) -> None:
        self.found[number] = match
        self.free[place].remove(match)

    def shared(self, number: int, match: int) -> int:
        """How many inputs the two have in common, whatever their order; outside of kernels a name lasts, and decides."""
        if not self.after[number].container and (
            self.after[number].node.name == self.before[match].node.name
        ):
            return 1_000_000
        reads = Counter(map(self.resolved, self.after[number].reads))
        return (reads & Counter(self.before[match].reads)).total()

    def resolved(self, read: Origin) -> Origin | None:
        """An input of `after`, said in numbers of `before`."""
        if isinstance(read, int):
            return read
        match = self.found[read[0]]
        return None if match is None else (match, read[1])

    def sibling(self, number: int) -> int | None:
        """Another operator of the same expansion: one that is free, else the neighbour that was matched last."""
        basic, place = self.after[number], self.place(number)
        for one in self.free[place]:
            if self.before[one].kind[1] == basic.kind[1]:
                return one
        neighbours = (
            self.found[one]
            for one in range(number - 1, -1, -1)
            if self.after[one].container == basic.container
        )
        return next((match for match in neighbours if match is not None), None)
