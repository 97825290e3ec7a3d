"""Clusters of operators that no pattern names, found in time linear in the edges.

A group may become one kernel only when nothing outside stands between two of its operators. For that the walk keeps, for
each value, the set of groups from which a path leads to it through something outside them; sets are bits of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace

from ms_fusion.cost import POOLINGS, REDUCING, is_matrix_product
from ms_fusion.disjoint import Disjoint
from ms_fusion.graph import Graph, Node
from ms_fusion.rewrite import Candidate

MOVING = frozenset({"Reshape", "Transpose", "ExpandDims", "Squeeze", "Flatten"})
DEALING = frozenset({"Split"})
"""Operators that deal out what stands before them: they go with it."""
MAX_NODES = 100
"""Of a group: a larger one compiles for long and gains nothing more."""
ALL_NODES = 16
"""Of an epilogue, up to which each of its beginnings is a candidate."""
CLUSTER, EPILOGUE, SIBLINGS = "Cluster", "Epilogue", "Siblings"


def clusters(graph: Graph, may: Callable[[Node], bool]) -> Iterator[Candidate]:
    """The largest groups of memory-bound operators.

    Args:
        graph: the graph.
        may: whether an operator can be part of a kernel.
    """
    walk = _Walk(graph, POOLINGS)
    for node in graph.nodes:
        walk.take(node, may(node) and not is_matrix_product(node.op))
    for nodes in walk.groups():
        if len(nodes) > 1:
            yield Candidate(CLUSTER, "intra-operator", nodes)


def epilogues(graph: Graph, may: Callable[[Node], bool]) -> Iterator[Candidate]:
    """Each matrix product or convolution with all that follows and needs nothing that comes later than it."""
    for anchor in graph.nodes:
        if not (is_matrix_product(anchor.op) and may(anchor)):
            continue
        found, ends = [anchor], list[int]()
        inside = {anchor.name}
        while len(found) < MAX_NODES:
            readers = graph.consumers.get(found[-1].outputs[0], ())
            distinct = {one.name: one for one in readers}
            if found[-1].outputs[0] in graph.outputs or len(distinct) != 1:
                more = _spelled_out(list(distinct.values()), found[-1], graph, may)
                if found[-1].outputs[0] in graph.outputs or not more:
                    break
            else:
                (reader,) = distinct.values()
                more = [reader]
            if any(
                not may(one)
                or is_matrix_product(one.op)
                or one.op in POOLINGS
                or one.name in inside
                for one in more
            ):
                break
            found += more
            inside |= {one.name for one in more}
            ends.append(len(found))
        for end in ends:
            # of a long row those that end before a reduction, or nowhere: with one operator more the others save more
            if end <= ALL_NODES or end == len(found) or found[end].op in REDUCING:
                yield Candidate(EPILOGUE, "cross-operator", tuple(one.name for one in found[:end]))


def _spelled_out(
    readers: Sequence[Node], made: Node, graph: Graph, may: Callable[[Node], bool]
) -> list[Node]:
    """Two readers of which one reads the other and nothing else does: x · sigmoid(x), and its like."""
    if len(readers) != 2:
        return []
    for first, last in (readers, readers[::-1]):
        between = {one.name for one in graph.consumers.get(first.outputs[0], ())}
        if between == {last.name} and first.outputs[0] not in graph.outputs:
            return [first, last]
    return []


def with_layouts(candidate: Candidate, graph: Graph, may: Callable[[Node], bool]) -> Candidate:
    """A candidate around matrix products, with the operators before and behind it that only move numbers and serve nobody else."""
    inside = set(candidate.nodes)
    if not any(is_matrix_product(graph.node(name).op) for name in inside):
        return candidate
    waiting = [graph.node(name) for name in candidate.nodes]
    while waiting and len(inside) < MAX_NODES:
        node = waiting.pop()
        makers = [graph.producers[name] for name in node.inputs if name in graph.producers]
        readers = [one for name in node.outputs for one in graph.consumers.get(name, ())]
        for one in (*makers, *(readers if len({reader.name for reader in readers}) == 1 else ())):
            if (
                one.name in inside
                or one.op not in (MOVING | DEALING if one in readers else MOVING)
                or not may(one)
            ):
                continue
            alone = all(
                reader.name in inside
                for name in one.outputs
                for reader in graph.consumers.get(name, ())
            )
            behind = one in readers and not {*node.outputs} & {*graph.outputs}
            if behind or (alone and not {*one.outputs} & {*graph.outputs}):
                inside.add(one.name)
                waiting.append(one)
    return (
        replace(candidate, nodes=tuple(node.name for node in graph.nodes if node.name in inside))
        if len(inside) > len(candidate.nodes)
        else candidate
    )


def siblings(graph: Graph, may: Callable[[Node], bool]) -> Iterator[Candidate]:
    """Operators of one type that read the same value, none of which waits for another: they may be one, horizontally."""
    for value, readers in graph.consumers.items():
        kinds: dict[str, dict[str, Node]] = {}
        for node in readers:
            if may(node) and node.inputs and node.inputs[0] == value and is_matrix_product(node.op):
                kinds.setdefault(node.op, {})[node.name] = node
        for found in kinds.values():
            if 1 < len(found) <= MAX_NODES:
                yield Candidate(SIBLINGS, "cross-operator", tuple(found))


class _Walk:
    """Groups under way; each has a bit, and after two became one the bits of both."""

    def __init__(self, graph: Graph, beginning: Container[str] = ()):
        """`beginning`: operators that only begin a group."""
        self.graph = graph
        self.beginning = beginning
        self.group: dict[str, int] = {}
        self.joined = Disjoint[int]()
        self.masks: list[int] = []
        self.members: list[list[str]] = []
        self.through: dict[str, int] = {}
        self.seen: list[int] = []

    def take(self, node: Node, may: bool) -> None:
        makers = [
            maker
            for maker in (self.graph.producers.get(name) for name in node.inputs)
            if maker is not None
        ]
        own = self._joined(makers) if may and node.op not in self.beginning else None
        reached = 0
        for maker in makers:
            reached |= self.through[maker.name]
            number = self.group.get(maker.name)
            if number is not None and self.joined.root(number) != own:
                reached |= self.masks[self.joined.root(number)]
        self.through[node.name] = reached
        if may:
            if own is None:
                own = len(self.members)
                self.joined.add(own)
                self.masks.append(1 << own)
                self.members.append([])
                self.seen.append(0)
            self.group[node.name] = own
            self.members[own].append(node.name)
            self.seen[own] |= reached

    def _joined(self, makers: Sequence[Node]) -> int | None:
        """The group that a reader of these may be part of, after those of them that can be one became one."""
        found: int | None = None
        for number in dict.fromkeys(
            self.joined.root(self.group[one.name]) for one in makers if one.name in self.group
        ):
            outside = 0
            for maker in makers:
                held = self.group.get(maker.name)
                if held is None or self.joined.root(held) != number:
                    outside |= self.through[maker.name]
            if outside & self.masks[number] or len(self.members[number]) >= MAX_NODES:
                continue
            if found is None:
                found = number
            elif self._can_be_one(found, number):
                self.joined.join(number, found)
                self.masks[found] |= self.masks[number]
                self.members[found] += self.members[number]
                self.seen[found] |= self.seen[number]
        return found

    def _can_be_one(self, one: int, other: int) -> bool:
        apart = not (self.seen[one] & self.masks[other] or self.seen[other] & self.masks[one])
        return apart and len(self.members[one]) + len(self.members[other]) <= MAX_NODES

    def groups(self) -> Iterator[tuple[str, ...]]:
        order: Mapping[str, int] = {node.name: place for place, node in enumerate(self.graph.nodes)}
        for number, members in enumerate(self.members):
            if self.joined.root(number) == number and members:
                yield tuple(sorted(members, key=order.__getitem__))


SEARCHES = {"Cluster": clusters, "Epilogue": epilogues, "Siblings": siblings}
"""Searches besides the rules; they have names as rules do."""
