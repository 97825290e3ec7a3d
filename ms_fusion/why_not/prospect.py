"""What would surely be fused if some operators were clustered together.

MindSpore's splitter takes a cluster apart at known places and merges what is left, in an order that a rule does not know.
So an answer is given only for pieces that no order can cut: all their operators are free to be one kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from ms_fusion.graph import Edge, Graph, Node
from ms_fusion.why_not.fusability import Settings
from ms_fusion.why_not.reach import Reach
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
        """Whether the two are sure to be fused: they hang together, no rule of the splitter cuts their piece, and no way
        leads through other operators back into it."""
        piece = self._pieces.get(producer.name)
        return (
            piece is not None
            and piece == self._pieces.get(consumer.name)
            and piece not in self._cut_inside
            and not self._reach.comes_back(producer.name)
        )

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
    def _cut_inside(self) -> frozenset[str]:
        """The pieces that hold both ends of an edge which is cut, or one end of an edge between other numbers of elements:
        there the order decides which side the shared operators go to."""
        piece, kernels = self._pieces, self._kernels(self._pieces)
        found = set()
        for edge in self._edges:
            ends = {piece[edge.producer], piece[edge.consumer]}
            if len(ends) > 1:
                found |= ends if self._changes_size(edge) else set()
            elif self._is_cut(edge, kernels[piece[edge.producer]]):
                found |= ends
        return frozenset(found)

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

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self._graph, self._pieces)

    def _kernels(self, piece: Mapping[str, str]) -> dict[str, Kernel]:
        members: dict[str, list[tuple[Node, bool]]] = defaultdict(list)
        for name, one in piece.items():
            members[one].append((self._graph.node(name), True))
        return {one: kernel_of(nodes, self._graph) for one, nodes in members.items()}

    def _is_cut(self, edge: Edge, whole: Kernel) -> bool:
        """Whether the splitter may take the two ends apart when everything in `whole` is to be one kernel."""
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


def connected(names: Iterable[str], edges: Iterable[Edge]) -> dict[str, str]:
    """Name → the name that stands for all that it hangs together with."""
    first = {name: name for name in names}

    def root(name: str) -> str:
        while first[name] != name:
            first[name] = first[first[name]]
            name = first[name]
        return name

    for edge in edges:
        first[root(edge.consumer)] = root(edge.producer)
    return {name: root(name) for name in first}
