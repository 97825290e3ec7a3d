"""Splits groups at tensors whose size a kernel of the group cannot know.

A kernel knows the sizes of its inputs. What `Expand` is told, or `Reshape` for several sizes at once, may be the size of a
tensor that the group does not read. Such an operator stays with the model, and what stood before and behind it are groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.rewrite import Candidate

TOLD = frozenset({"BroadcastTo", "Reshape"})
"""Operators that are told the sizes of their result."""


def within_known_sizes(candidates: Iterable[Candidate], graph: Graph) -> list[Candidate]:
    """The candidates, or what is left of each as groups of several operators, no two the same.

    Args:
        candidates: found in the graph, perhaps with sizes assumed.
        graph: with the names of sizes that are not known.
    """
    distinct: dict[tuple[str, ...], Candidate] = {}
    for candidate in candidates:
        for one in _cut(candidate, graph):
            distinct.setdefault(one.nodes, one)
    return list(distinct.values())


def _cut(candidate: Candidate, graph: Graph) -> Iterator[Candidate]:
    nodes = [graph.node(name) for name in candidate.nodes]
    foreign = _foreign(nodes, graph)
    if not foreign:
        yield candidate
        return
    depth: dict[str, int] = {}
    parts: dict[int, list[str]] = {}
    for node in nodes:
        own = max((depth.get(value, 0) for value in node.inputs), default=0)
        if node.name not in foreign:
            parts.setdefault(own, []).append(node.name)
        depth |= dict.fromkeys(node.outputs, own + (node.name in foreign))
    for names in parts.values():
        if len(names) > 1:
            yield from _cut(replace(candidate, nodes=tuple(names)), graph)


def _foreign(nodes: Iterable[Node], graph: Graph) -> set[str]:
    """Names of the operators whose result has a size that nothing before it has."""
    members = list(nodes)
    made = {value for node in members for value in node.outputs}
    read = {value for node in members for value in node.inputs if value not in made}
    known = {size for name in read for size in _unknown(graph.values[name])}
    found = set()
    for node in members:
        new = {size for value in graph.outputs_of(node) for size in _unknown(value)} - known
        # one size of a reshape follows from the others
        if node.op in TOLD and len(new) > (node.op == "Reshape"):
            found.add(node.name)
        known |= new
    return found


def _unknown(value: Value) -> list[str]:
    return [size for size in value.shape if isinstance(size, str)]
