"""Predicts which operators would certainly fuse if they were clustered together.

MindSpore's splitter cuts a cluster at edges that are known in advance. Then the splitter merges the
remaining operators in an order that no known rule predicts. A *piece* is a connected component of a
cluster after all possible cuts. The prediction covers only pieces that stay together in every merge
order. All operators of such a piece can be one kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from ms_fusion.disjoint_sets import DisjointSets
from ms_fusion.graph import Edge, Graph, Node
from ms_fusion.ops import operator_info
from ms_fusion.ops.op_info import Trait
from ms_fusion.why_not.fusibility import Settings
from ms_fusion.why_not.splitter import (
    DATA_MOVEMENT_OPERATORS,
    REDUCTION_FIRST_OPERATORS,
    REDUCTION_OPERATORS,
    KernelTraits,
    Pair,
    kernel_of,
    split_reason,
)


class ProspectiveClusters:
    """Hypothetical clusters, for a program in which fusion is off or operators are not clustered.

    Args:
        graph: nodes in topological order.
        cluster: a dict from the full name of an operator to its hypothetical cluster.
        given: the flags that are assumed to be in force.
    """

    def __init__(self, graph: Graph, cluster: Mapping[str, str], given: Settings):
        self._graph, self._cluster, self._given = graph, cluster, given

    def is_certain_to_fuse(self, producer: Node, consumer: Node) -> bool:
        """Whether the two operators certainly fuse.

        Returns True if all of these conditions hold:

        - Both are in one piece, a part of a cluster that remains connected after all possible cuts.
        - The splitter certainly does not cut off the producer or the consumer, and does not merge
          the piece with another piece.
        - Both depend on the same intermediate operators, and the same intermediate operators depend
          on both. An intermediate operator is outside of the piece, but must run between two
          operators of the piece. Such an operator could separate the producer and the consumer in
          two cases: the intermediate operator depends on only one of them, or only one of them
          depends on the intermediate operator.
        """
        piece = self._pieces.get(producer.name)
        if (
            piece is None
            or piece != self._pieces.get(consumer.name)
            or piece in self._uncertain_pieces
        ):
            return False
        waits = self._intermediate_dependencies(producer.name, piece)
        return waits is not None and waits == self._intermediate_dependencies(consumer.name, piece)

    @cached_property
    def _edges(self) -> tuple[Edge, ...]:
        """The edges whose two operators are in one cluster."""
        cluster = self._cluster
        return tuple(
            edge
            for edge in self._graph.edges
            if edge.producer in cluster and cluster[edge.producer] == cluster.get(edge.consumer)
        )

    @cached_property
    def _pieces(self) -> dict[str, str]:
        """A dict from the name of each operator to the name of its piece.

        A piece is a part of a cluster that remains connected after all possible cuts.
        """
        cuts: set[Edge] = set()
        while True:
            piece = connected_components(
                self._cluster, (edge for edge in self._edges if edge not in cuts)
            )
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
    def _uncertain_pieces(self) -> frozenset[str]:
        """Pieces (connected parts of cut clusters) that may become part of a consumer's kernel.

        The order of merges is unknown. This order determines whether the splitter merges a piece
        with the piece of its consumer.
        """
        if not self._given.has_splitter:
            return frozenset()
        piece = self._pieces
        return frozenset(
            piece[edge.producer]
            for edge in self._edges
            if piece[edge.producer] != piece[edge.consumer] and self._is_size_change(edge)
        )

    @cached_property
    def _members(self) -> dict[str, int]:
        """A dict from each piece to the bit set of its operators.

        A piece is a part of a cluster that remains connected after all possible cuts. There is one
        exception: the splitter may cut an edge whose two operators are in the same piece. The
        producer of such an edge is left out.
        """
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
    def _descendants(self) -> list[int]:
        """For each operator, the bit set of itself and its transitive consumers."""
        bits = [1 << number for number in range(len(self._graph))]
        for edge in sorted(self._graph.edges, key=lambda edge: -self._number[edge.producer]):
            bits[self._number[edge.producer]] |= bits[self._number[edge.consumer]]
        return bits

    @cached_property
    def _ancestors(self) -> list[int]:
        """For each operator, the bit set of itself and its transitive producers."""
        bits = [1 << number for number in range(len(self._graph))]
        for edge in self._graph.edges:  # sorted by consumer
            bits[self._number[edge.consumer]] |= bits[self._number[edge.producer]]
        return bits

    @cached_property
    def _intermediate_operators(self) -> dict[str, int]:
        """A dict from each piece (see `_pieces`) to the bit set of its intermediate operators.

        An intermediate operator is outside of the piece, but on a path that leaves the piece and
        returns to it.
        """
        found = {}
        for piece, members in self._members.items():
            behind = before = 0
            for number in _bits(members):
                behind |= self._descendants[number]
                before |= self._ancestors[number]
            found[piece] = behind & before & ~members
        return found

    def _intermediate_dependencies(self, name: str, piece: str) -> tuple[int, int] | None:
        """Returns two bit sets of intermediate operators of `piece` (`_intermediate_operators`).

        The first set contains the intermediate operators that depend on the operator `name`. The
        second set contains the intermediate operators on which the operator `name` depends. Returns
        None if `_members` does not list the operator in this piece.
        """
        own = self._number[name]
        if not self._members[piece] >> own & 1:
            return None
        between = self._intermediate_operators[piece]
        return self._descendants[own] & between, self._ancestors[own] & between

    def _is_size_change(self, edge: Edge) -> bool:
        """Whether the edge connects elementwise operators with different numbers of elements."""
        consumer = self._graph.node(edge.consumer)
        if consumer.op in REDUCTION_OPERATORS | REDUCTION_FIRST_OPERATORS | DATA_MOVEMENT_OPERATORS:
            return False
        elements = {value.elements for value in self._graph.outputs_of(consumer)}
        return (
            self._graph.node(edge.producer).op not in REDUCTION_OPERATORS
            and self._graph.values[edge.value].elements not in elements
        )

    def _kernels(self, piece: Mapping[str, str]) -> dict[str, KernelTraits]:
        members: dict[str, list[tuple[Node, bool]]] = defaultdict(list)
        for name, one in piece.items():
            members[one].append((self._graph.node(name), True))
        return {one: kernel_of(nodes, self._graph) for one, nodes in members.items()}

    def _is_cut(self, edge: Edge, whole: KernelTraits) -> bool:
        """Whether the splitter may cut `edge`, an edge inside the hypothetical kernel `whole`."""
        if not self._given.has_splitter:
            return False
        graph = self._graph
        producer, consumer = graph.node(edge.producer), graph.node(edge.consumer)
        if REDUCTION_FIRST_OPERATORS & {producer.op, consumer.op}:
            return True  # Such an operator becomes several kernels, which may be cut anywhere.
        if self._is_moved_behind_sum(producer) or self._is_moved_behind_sum(consumer):
            return True
        own = kernel_of([(producer, True)], graph).reduction
        before, after = replace(whole, reduction=own), replace(whole, reduction=None)
        value = graph.values[edge.value]
        return (
            split_reason(Pair(graph, producer, consumer, value, self._given, before, after))
            is not None
        )

    def _is_moved_behind_sum(self, node: Node) -> bool:
        """Whether MindSpore's simplification moves `node` behind a ``ReduceSum`` that reads `node`.

        MindSpore moves negations, and multiplications and divisions with a constant operand.
        """
        inputs = self._graph.inputs_of(node)
        linear = Trait.LINEAR in operator_info(node.op).traits and (
            len(inputs) == 1 or any(one.kind == "constant" for one in inputs)
        )
        return linear and any(
            reader.op == "ReduceSum"
            for made in node.outputs
            for reader in self._graph.consumers.get(made, ())
        )


def _bits(number: int) -> Iterator[int]:
    """Yields the indices of the set bits of `number`."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def connected_components(names: Iterable[str], edges: Iterable[Edge]) -> dict[str, str]:
    """Returns a dict from each name to the representative of its connected component."""
    known = tuple(names)
    sets = DisjointSets(known)
    for edge in edges:
        sets.join(edge.consumer, edge.producer)
    return {name: sets.root(name) for name in known}
