"""Tests, by bit sets, whether two groups of nodes can be merged without creating a cycle."""

from __future__ import annotations

from collections.abc import Mapping

from ms_fusion.graph import Graph


class Reachability:
    """Computes which groups of nodes reach which other groups along edges.

    Time and memory are proportional to (number of edges) × (number of groups) / 64.

    Args:
        graph: nodes in topological order.
        groups: a dict from the name of a node to the name of its group. A node without an entry, or
            with an empty group name, forms a group of its own.
    """

    def __init__(self, graph: Graph, groups: Mapping[str, str]):
        self._first: dict[int, str] = {}
        numbers: dict[tuple[str, str], int] = {}
        self._group: dict[str, int] = {}
        for node in graph:
            name = groups.get(node.name, "")
            key = ("group", name) if name else ("node", node.name)
            number = numbers.setdefault(key, len(numbers))
            self._group[node.name] = number
            self._first.setdefault(number, node.name)
        self._after: dict[int, dict[int, str]] = {number: {} for number in range(len(numbers))}
        for edge in graph.edges:
            here, there = self._group[edge.producer], self._group[edge.consumer]
            if here != there:
                self._after[here].setdefault(there, edge.consumer)
        self._reached = self._closure(len(numbers))

    def _closure(self, count: int) -> list[int]:
        """Returns, for each group, the bit set of the groups that it reaches.

        Groups in a cycle reach the same groups.
        """
        reached = [1 << number for number in range(count)]
        order = self._reverse_topological_order(count)
        changed = True
        while changed:  # On an acyclic graph, the second pass only confirms the first.
            changed = False
            for number in order:
                bits = reached[number]
                for follower in self._after[number]:
                    bits |= reached[follower]
                if bits != reached[number]:
                    reached[number], changed = bits, True
        return reached

    def _reverse_topological_order(self, count: int) -> list[int]:
        """Returns all groups, each after its consumers, except for groups in a cycle."""
        waiting = [0] * count
        for followers in self._after.values():
            for follower in followers:
                waiting[follower] += 1
        ready = [number for number in range(count) if not waiting[number]]
        for number in ready:
            for follower in self._after[number]:
                waiting[follower] -= 1
                if not waiting[follower]:
                    ready.append(follower)
        placed = set(ready)
        return [number for number in range(count) if number not in placed] + ready[::-1]

    def intermediate_node(self, producer: str, consumer: str, *, aside: str = "") -> str | None:
        """Finds a node of a third group on a path from `producer`'s group to `consumer`'s group.

        Paths that go from `producer`'s group directly to the group of the node `aside` are ignored.
        Returns None if no other path contains such a node, or if `producer` and `consumer` are in
        one group.
        """
        here, there = self._group[producer], self._group[consumer]
        if here == there:
            return None
        passed = {there, self._group.get(aside, there)}
        for follower, entry in self._after[here].items():
            if follower not in passed and self._reached[follower] >> there & 1:
                return entry
        return None
