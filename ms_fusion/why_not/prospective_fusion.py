"""What would surely be fused if some operators were clustered together.

MindSpore's splitter takes a cluster apart at known places and merges what is left, in an order that a rule does not know.
So an answer is given only for pieces that no order can cut: all their operators are free to be one kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from ms_fusion.disjoint import Disjoint
from ms_fusion.graph import Edge, Graph, Node
from ms_fusion.why_not.fusability import Settings
from ms_fusion.why_not.splitter import (
    MOVING,
    REDUCING,
    REDUCING_FIRST,
    Kernel,
    Pair,
    kernel_of,
    why_split,
)


class Prospect:
    """Clusters that are not there (fusion is off), or not any more (an operator is kept out).

    Args:
        graph: nodes in topological order.
        cluster: full name of an operator → the cluster that it would be in.
        given: the flags under which it would be.
    """

    def __init__(self, graph: Graph, cluster: Mapping[str, str], given: Settings):
        self._graph, self._cluster, self._given = graph, cluster, given

    def becomes_one_kernel(self, producer: Node, consumer: Node) -> bool:
        """Whether the two are sure to be fused: they hang together, no rule of the splitter cuts their piece, and whatever
        one of them may be fused with as far as other kernels have to run between, the other may too."""
        piece = self._pieces.get(producer.name)
        if piece is None or piece != self._pieces.get(consumer.name) or piece in self._unsure:
            return False
        waits = self._waits(producer.name, piece)
        return waits is not None and waits == self._waits(consumer.name, piece)

    @cached_property
    def _edges(self) -> tuple[Edge, ...]:
        """The edges that lie inside one cluster."""
        cluster = self._cluster
        return tuple(
            edge
            for edge in self._graph.edges
            if edge.producer in cluster and cluster[edge.producer] == cluster.get(edge.consumer)
        )

    @cached_property
    def _pieces(self) -> dict[str, str]:
        """Operator → its piece, once nothing is left to cut."""
        cuts: set[Edge] = set()
        while True:
            piece = connected(self._cluster, (edge for edge in self._edges if edge not in cuts))
            kernels = self._kernels(piece)
            new = {
                edge
                for edge in self._edges
                if edge not in cuts and self._is_cut(edge, kernels[piece[edge.producer]])
            }
            if not new:
                return piece
            cuts |= new

    @cached_property
    def _unsure(self) -> frozenset[str]:
        """The pieces whose operators may go to larger ones that read them: there the order decides."""
        if not self._given.splits:
            return frozenset()
        piece = self._pieces
        return frozenset(
            piece[edge.producer]
            for edge in self._edges
            if piece[edge.producer] != piece[edge.consumer] and self._changes_size(edge)
        )

    @cached_property
    def _members(self) -> dict[str, int]:
        """Piece → its operators as bits, but for those that give nothing on inside of it although somebody there waits."""
        piece, kernels = self._pieces, self._kernels(self._pieces)
        apart = {
            edge.producer
            for edge in self._edges
            if piece[edge.producer] == piece[edge.consumer]
            and self._is_cut(edge, kernels[piece[edge.producer]])
        }
        found: dict[str, int] = defaultdict(int)
        for name, one in piece.items():
            if name not in apart:
                found[one] |= 1 << self._number[name]
        return found

    @cached_property
    def _number(self) -> dict[str, int]:
        return {node.name: number for number, node in enumerate(self._graph)}

    @cached_property
    def _followers(self) -> list[int]:
        """For each operator the bits of itself and of all that wait for it."""
        bits = [1 << number for number in range(len(self._graph))]
        for edge in sorted(self._graph.edges, key=lambda edge: -self._number[edge.producer]):
            bits[self._number[edge.producer]] |= bits[self._number[edge.consumer]]
        return bits

    @cached_property
    def _sources(self) -> list[int]:
        """For each operator the bits of itself and of all that it waits for."""
        bits = [1 << number for number in range(len(self._graph))]
        for edge in self._graph.edges:  # in the order of their consumers
            bits[self._number[edge.consumer]] |= bits[self._number[edge.producer]]
        return bits

    @cached_property
    def _between(self) -> dict[str, int]:
        """Piece → the bits of the operators outside that wait for some of it, and that others of it wait for."""
        found = {}
        for piece, members in self._members.items():
            behind = before = 0
            for number in _bits(members):
                behind |= self._followers[number]
                before |= self._sources[number]
            found[piece] = behind & before & ~members
        return found

    def _waits(self, name: str, piece: str) -> tuple[int, int] | None:
        """Of the operators between: those that wait for this one, and those that it waits for."""
        own = self._number[name]
        if not self._members[piece] >> own & 1:
            return None
        between = self._between[piece]
        return self._followers[own] & between, self._sources[own] & between

    def _changes_size(self, edge: Edge) -> bool:
        """Whether elementwise operators of different sizes meet there."""
        consumer = self._graph.node(edge.consumer)
        if consumer.op in REDUCING | REDUCING_FIRST | MOVING:
            return False
        elements = {value.elements for value in self._graph.outputs_of(consumer)}
        return (
            self._graph.node(edge.producer).op not in REDUCING
            and self._graph.values[edge.value].elements not in elements
        )

    def _kernels(self, piece: Mapping[str, str]) -> dict[str, Kernel]:
        members: dict[str, list[tuple[Node, bool]]] = defaultdict(list)
        for name, one in piece.items():
            members[one].append((self._graph.node(name), True))
        return {one: kernel_of(nodes, self._graph) for one, nodes in members.items()}

    def _is_cut(self, edge: Edge, whole: Kernel) -> bool:
        """Whether the splitter may take the two ends apart when everything in `whole` is to be one kernel."""
        if not self._given.splits:
            return False
        graph = self._graph
        producer, consumer = graph.node(edge.producer), graph.node(edge.consumer)
        if REDUCING_FIRST & {producer.op, consumer.op}:
            return True  # it becomes several kernels, and may be cut anywhere
        if self._moves(producer) or self._moves(consumer):
            return True
        own = kernel_of([(producer, True)], graph).reduction
        before, after = replace(whole, reduction=own), replace(whole, reduction=None)
        value = graph.values[edge.value]
        return (
            why_split(Pair(graph, producer, consumer, value, self._given, before, after))
            is not None
        )

    def _moves(self, node: Node) -> bool:
        """Whether MindSpore's simplification computes `node` behind a sum that reads it: a sign, a constant factor."""
        inputs = self._graph.inputs_of(node)
        linear = node.op == "Neg" or (
            node.op in ("Mul", "RealDiv", "Div") and any(one.kind == "constant" for one in inputs)
        )
        return linear and any(
            reader.op == "ReduceSum"
            for made in node.outputs
            for reader in self._graph.consumers.get(made, ())
        )


def _bits(number: int) -> Iterator[int]:
    """The places of the ones."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def connected(names: Iterable[str], edges: Iterable[Edge]) -> dict[str, str]:
    """Name → the name that stands for all that it hangs together with."""
    known = tuple(names)
    sets = Disjoint(known)
    for edge in edges:
        sets.join(edge.consumer, edge.producer)
    return {name: sets.root(name) for name in known}
