"""What is left of the clusters that were not built, once the operators to blame are kept out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.why_not.fusability import Settings
from ms_fusion.why_not.reach import Reach
from ms_fusion.why_not.splitter import Pair, kernel_of, why_split


class Remainder:
    """The connected pieces of the clusters that were not built, without the operators to blame.

    Args:
        graph: nodes in topological order.
        cluster: full name of an operator → its cluster, for the clusters that were not built.
        blamed: full names of the operators to blame.
    """

    def __init__(self, graph: Graph, cluster: Mapping[str, str], blamed: Collection[str]):
        self._graph = graph
        self._piece = _pieces(graph, {name: cluster[name] for name in cluster.keys() - blamed})
        self._reach = Reach(graph, self._piece)
        members: dict[str, list[tuple[Node, bool]]] = defaultdict(list)
        for node in graph:
            if node.name in self._piece:
                members[self._piece[node.name]].append((node, True))
        self._kernel = {piece: kernel_of(nodes, graph) for piece, nodes in members.items()}

    def becomes_one_kernel(
        self, producer: Node, consumer: Node, value: Value, given: Settings
    ) -> bool:
        """Whether the two are sure to be fused: nothing may cut their piece, neither a way through other
        operators back into it, nor a rule of the splitter about anything in it."""
        piece = self._piece.get(producer.name)
        if piece is None or self._reach.comes_back(producer.name):
            return False
        whole = self._kernel[piece]
        pair = Pair(self._graph, producer, consumer, value, given, whole, whole)
        return why_split(pair) is None


def _pieces(graph: Graph, cluster: Mapping[str, str]) -> dict[str, str]:
    """Operator → the first operator of those of its cluster that it hangs together with."""
    first = {node.name: node.name for node in graph if node.name in cluster}

    def root(name: str) -> str:
        while first[name] != name:
            first[name] = first[first[name]]
            name = first[name]
        return name

    for edge in graph.edges:
        ends = cluster.get(edge.producer), cluster.get(edge.consumer)
        if ends[0] is not None and ends[0] == ends[1]:
            first[root(edge.consumer)] = root(edge.producer)
    return {name: root(name) for name in first}
