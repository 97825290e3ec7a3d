"""The clusters that MindSpore would form of operators that may be clustered, by its own way of forming them."""

from __future__ import annotations

from collections.abc import Collection

from ms_fusion.graph import Graph


def form_clusters(graph: Graph, free: Collection[str]) -> dict[str, str]:
    """Operator → the last operator of its cluster.

    From the end of the program on, an operator that is in no cluster yet takes in everything above it that can be reached
    through free operators and clusters, except what an operator outside waits for, and what is above that.

    Args:
        graph: nodes in topological order.
        free: full names of the operators that may be clustered.
    """
    groups = _Groups(graph, free)
    for node in reversed(graph.nodes):
        if node.name in free and groups.is_alone(node.name):
            groups.merge(node.name, groups.candidates(node.name))
    return {name: group for name, group in groups.of.items() if name in free}


class _Groups:
    """Operators, each in a group that is named after its last one."""

    def __init__(self, graph: Graph, free: Collection[str]):
        self.free = free
        self.clusters: set[str] = set()
        self.of = {node.name: node.name for node in graph}
        self.inputs: dict[str, set[str]] = {node.name: set() for node in graph}
        for edge in graph.edges:
            self.inputs[edge.consumer].add(edge.producer)

    def is_alone(self, name: str) -> bool:
        """Whether an operator is in no cluster yet."""
        return self.of[name] == name and name not in self.clusters

    def candidates(self, base: str) -> set[str]:
        """What `base` can be one cluster with."""
        found = self._above(base, self.free)
        for name in list(found):
            for outside in self.inputs[name] - found:
                for waited_for in self._reached(outside, found):
                    found -= self._above(waited_for, found)
        return found - {base}

    def merge(self, base: str, others: Collection[str]) -> None:
        """One group of all of them."""
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

    def _above(self, start: str, through: Collection[str]) -> set[str]:
        """`start` and what it is computed from, as far as a way leads through these groups."""
        waiting, seen = [start], {start}
        while waiting:
            for name in self.inputs[waiting.pop()]:
                if name in through and name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return seen

    def _reached(self, start: str, wanted: Collection[str]) -> list[str]:
        """Those of `wanted` that `start`, which lies outside, waits for."""
        waiting, seen, found = [start], {start}, []
        while waiting:
            name = waiting.pop()
            if name in wanted:
                found.append(name)
                continue
            for one in self.inputs[name] - seen:
                seen.add(one)
                waiting.append(one)
        return found
