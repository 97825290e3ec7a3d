"""Predicts the clusters that MindSpore forms, with a copy of MindSpore's algorithm."""

from __future__ import annotations

from collections.abc import Collection

from ms_fusion.graph import Graph
from tbe_impl.reachability import reachable


def form_clusters(graph: Graph, free: Collection[str]) -> dict[str, str]:
    """Returns a dict from each clusterable operator to the last operator of its cluster.

    The algorithm visits the operators from the end of the program backwards. An operator that is in
    no cluster yet starts a new cluster. The new cluster absorbs the clusterable producers of its
    operators, then the clusterable producers of these producers, and so on. If a producer is
    already in a cluster, the new cluster absorbs that whole cluster. To avoid a cycle, some
    operators are not absorbed. Let X be an operator outside of the new cluster, and let the new
    cluster read the result of X. If X depends on an operator Y that the new cluster would absorb,
    then Y and the producers of Y are not absorbed.

    Args:
        graph: nodes in topological order.
        free: full names of the clusterable operators (operators that MindSpore may fuse).
    """
    groups = _Groups(graph, free)
    for node in reversed(graph.nodes):
        if node.name in free and groups.is_alone(node.name):
            groups.merge(node.name, groups.candidates(node.name))
    return {name: group for name, group in groups.of.items() if name in free}


class _Groups:
    """A partition of the operators into groups; each group is named after its last operator."""

    def __init__(self, graph: Graph, free: Collection[str]):
        self.free = free
        self.clusters: set[str] = set()
        self.of = {node.name: node.name for node in graph}
        self.inputs: dict[str, set[str]] = {node.name: set() for node in graph}
        for edge in graph.edges:
            self.inputs[edge.consumer].add(edge.producer)

    def is_alone(self, name: str) -> bool:
        """Whether an operator does not belong to a cluster yet."""
        return self.of[name] == name and name not in self.clusters

    def candidates(self, base: str) -> set[str]:
        """Returns the transitive producers that the group `base` can absorb without a cycle."""
        found = self._ancestors(base, self.free)
        for name in list(found):
            for outside in self.inputs[name] - found:
                for waited_for in self._reachable_targets(outside, found):
                    found -= self._ancestors(waited_for, found)
        return found - {base}

    def merge(self, base: str, others: Collection[str]) -> None:
        """Merges the groups `others` into the group `base`."""
        whole = {base, *others}
        self.clusters |= {base} if others else set()
        for name, group in self.of.items():
            if group in whole:
                self.of[name] = base
        self.inputs[base] = set().union(*(self.inputs[name] for name in whole)) - whole
        for name in others:
            del self.inputs[name]
        for inputs in self.inputs.values():
            if inputs & whole:
                inputs -= whole
                inputs.add(base)
        self.inputs[base].discard(base)

    def _ancestors(self, start: str, through: Collection[str]) -> set[str]:
        """Returns `start` and its transitive producers.

        Only producers in `through` are returned and followed further.
        """
        return set(
            reachable([start], lambda one: [name for name in self.inputs[one] if name in through])
        )

    def _reachable_targets(self, start: str, wanted: Collection[str]) -> list[str]:
        """Returns the names in `wanted` at which the search for producers of `start` ends.

        The search follows each path from a consumer to its producers, and stops at the first name
        in `wanted`. `start` must not be in `wanted`.
        """
        met = reachable([start], lambda name: () if name in wanted else self.inputs[name])
        return [name for name in met if name in wanted]
