"""Splits groups at operators whose result has a size that a kernel of the group cannot know.

A kernel knows the sizes of its inputs. The target shape of `Expand`, or of a `Reshape` with several
unknown sizes, may depend on a tensor that the group does not read. Such an operator is removed from
the group. The operators before and after this operator form separate groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.rewrite import Candidate

SHAPE_INPUT_OPERATORS = frozenset({"BroadcastTo", "Reshape"})
"""Operators with an input that gives the shape of their result."""


def split_at_unknown_sizes(candidates: Iterable[Candidate], graph: Graph) -> list[Candidate]:
    """Splits the candidates at operators whose result has an unknown size.

    Returns the distinct parts that have at least two operators.

    Args:
        candidates: candidates that may have been found with assumed sizes.
        graph: the graph in which unknown sizes are symbols.
    """
    distinct: dict[tuple[str, ...], Candidate] = {}
    for candidate in candidates:
        for one in _split_candidate(candidate, graph):
            distinct.setdefault(one.nodes, one)
    return list(distinct.values())


def _split_candidate(candidate: Candidate, graph: Graph) -> Iterator[Candidate]:
    nodes = [graph.node(name) for name in candidate.nodes]
    foreign = _unknown_size_operators(nodes, graph)
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
            yield from _split_candidate(replace(candidate, nodes=tuple(names)), graph)


def _unknown_size_operators(nodes: Iterable[Node], graph: Graph) -> set[str]:
    """Returns the names of the operators whose result has a size that the group cannot know.

    The group cannot know a dynamic size if the size occurs neither in the group's inputs nor in
    earlier results. There is one exception: the result of a Reshape may have one such size, because
    this size follows from the number of elements. Only operators in `SHAPE_INPUT_OPERATORS` are
    returned.
    """
    members = list(nodes)
    made = {value for node in members for value in node.outputs}
    read = {value for node in members for value in node.inputs if value not in made}
    known = {size for name in read for size in _symbolic_sizes(graph.values[name])}
    found = set()
    for node in members:
        new = {size for value in graph.outputs_of(node) for size in _symbolic_sizes(value)} - known
        # One unknown size of a Reshape follows from the number of elements.
        if node.op in SHAPE_INPUT_OPERATORS and len(new) > (node.op == "Reshape"):
            found.add(node.name)
        known |= new
    return found


def _symbolic_sizes(value: Value) -> list[str]:
    return [size for size in value.shape if isinstance(size, str)]
