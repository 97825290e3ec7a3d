"""Finds candidates for fusion without patterns: clusters, epilogues and sibling operators.

A group may become one kernel only if it is convex: no path leaves the group and returns. The search
for clusters is linear in the number of edges. The search keeps a bit set of groups for each value.
A group is in the set of a value if a path from the group reaches the value through a node outside
of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace

from ms_fusion.cost import POOLINGS, ROW_REDUCTIONS, is_matrix_product
from ms_fusion.disjoint_sets import DisjointSets
from ms_fusion.graph import Graph, Node
from ms_fusion.rewrite import LAYOUT_OPERATORS, Candidate

SPLIT_OPERATORS = frozenset({"Split"})
"""Operators that return slices of their input, which are fused into the input's producer."""
MAX_NODES = 100
"""Maximum number of operators in a group. Larger groups compile slowly and save no more time."""
PREFIX_NODES_MAX = 16
"""Maximum number of operators in a prefix of an epilogue that becomes a candidate."""
CLUSTER, EPILOGUE, SIBLINGS = "Cluster", "Epilogue", "Siblings"


def find_clusters(graph: Graph, may: Callable[[Node], bool]) -> Iterator[Candidate]:
    """Yields the maximal groups of memory-bound operators.

    Args:
        graph: the graph.
        may: function that returns whether an operator can be part of a kernel.
    """
    walk = _Walk(graph, POOLINGS)
    for node in graph.nodes:
        walk.take(node, may(node) and not is_matrix_product(node.op))
    for nodes in walk.groups():
        if len(nodes) > 1:
            yield Candidate(CLUSTER, "intra-operator", nodes)


def find_epilogues(graph: Graph, may: Callable[[Node], bool]) -> Iterator[Candidate]:
    """Yields candidates: a matrix product or convolution together with a prefix of its epilogue.

    The epilogue is the chain of operators after the product or convolution. Usually, each operator
    of the chain is the only reader of the previous operator. But the previous operator may also
    have two readers if one reader reads the result of the other, as in x · sigmoid(x).
    """
    for anchor in graph.nodes:
        if not (is_matrix_product(anchor.op) and may(anchor)):
            continue
        found, ends = [anchor], list[int]()
        inside = {anchor.name}
        while len(found) < MAX_NODES:
            readers = graph.consumers.get(found[-1].outputs[0], ())
            distinct = {one.name: one for one in readers}
            if found[-1].outputs[0] in graph.outputs or len(distinct) != 1:
                more = _diamond_readers(list(distinct.values()), found[-1], graph, may)
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
            # A long prefix is a candidate only if it is the whole epilogue or ends before a
            # reduction. In other cases the prefix with one further operator saves more.
            if end <= PREFIX_NODES_MAX or end == len(found) or found[end].op in ROW_REDUCTIONS:
                yield Candidate(EPILOGUE, "cross-operator", tuple(one.name for one in found[:end]))


def _diamond_readers(
    readers: Sequence[Node], made: Node, graph: Graph, may: Callable[[Node], bool]
) -> list[Node]:
    """Returns the two readers of a value if one of them is the only reader of the other's result.

    The reader whose result is read comes first. In x · sigmoid(x), the readers of x are the sigmoid
    and the product. Returns an empty list for all other readers.
    """
    if len(readers) != 2:
        return []
    for first, last in (readers, readers[::-1]):
        between = {one.name for one in graph.consumers.get(first.outputs[0], ())}
        if between == {last.name} and first.outputs[0] not in graph.outputs:
            return [first, last]
    return []


def absorb_layouts(candidate: Candidate, graph: Graph, may: Callable[[Node], bool]) -> Candidate:
    """Adds adjacent layout operators to a candidate that contains a matrix product.

    A layout operator only changes the shape or the order of elements, as Reshape and Transpose do.
    A layout operator before the candidate is added if only the candidate reads its results. A
    layout operator or a Split after the candidate is added if no other operator reads the same
    result of the candidate.
    """
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
                or one.op
                not in (LAYOUT_OPERATORS | SPLIT_OPERATORS if one in readers else LAYOUT_OPERATORS)
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


def find_siblings(graph: Graph, may: Callable[[Node], bool]) -> Iterator[Candidate]:
    """Yields groups of matrix products that read the same value.

    The kernel of such a group makes one library call for each product.
    """
    for value, readers in graph.consumers.items():
        kinds: dict[str, dict[str, Node]] = {}
        for node in readers:
            if may(node) and node.inputs and node.inputs[0] == value and is_matrix_product(node.op):
                kinds.setdefault(node.op, {})[node.name] = node
        for found in kinds.values():
            if 1 < len(found) <= MAX_NODES:
                yield Candidate(SIBLINGS, "cross-operator", tuple(found))


class _Walk:
    """Grows groups of operators; the operators are added in topological order.

    Each group is represented by a bit in a bit set. A merged group keeps the bits of both groups.
    """

    def __init__(self, graph: Graph, beginning: Container[str] = ()):
        """`beginning` lists the operator types that can only be the first operator of a group."""
        self.graph = graph
        self.beginning = beginning
        self.group: dict[str, int] = {}
        self.joined = DisjointSets[int]()
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
        own = self._merge_groups(makers) if may and node.op not in self.beginning else None
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

    def _merge_groups(self, makers: Sequence[Node]) -> int | None:
        """Merges the groups that produce an operator's inputs, if the result is a valid group.

        The result must be convex and must not be too large. `makers` are the producers of the
        operator's inputs. Returns the number of the group that the operator may join, or None if
        there is no such group.
        """
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
            elif self._can_merge(found, number):
                self.joined.join(number, found)
                self.masks[found] |= self.masks[number]
                self.members[found] += self.members[number]
                self.seen[found] |= self.seen[number]
        return found

    def _can_merge(self, one: int, other: int) -> bool:
        apart = not (self.seen[one] & self.masks[other] or self.seen[other] & self.masks[one])
        return apart and len(self.members[one]) + len(self.members[other]) <= MAX_NODES

    def groups(self) -> Iterator[tuple[str, ...]]:
        order: Mapping[str, int] = {node.name: place for place, node in enumerate(self.graph.nodes)}
        for number, members in enumerate(self.members):
            if self.joined.root(number) == number and members:
                yield tuple(sorted(members, key=order.__getitem__))


SEARCHES = {"Cluster": find_clusters, "Epilogue": find_epilogues, "Siblings": find_siblings}
"""Maps the name of a search to its function. Searches are selected by name, as rules are."""
