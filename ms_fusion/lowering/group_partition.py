"""Partitions a group (a fused subgraph) into library calls and regions of other operators."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.graph import Graph, Node
from ms_fusion.lowering.composite_lowering import IN_PLACE_OPERATORS
from ms_fusion.lowering.onednn.onednn_steps import LibraryStep, is_library_operator, library_step


@dataclass(frozen=True)
class Region:
    """Operators between library calls that one of our own kernels computes together.

    Attributes:
        nodes: the operators in topological order.
        results: names of the live-out values: outputs of the group, results of in-place operators,
            and values that nodes outside of the region read.
    """

    nodes: tuple[Node, ...]
    results: tuple[str, ...]


def partition_group(graph: Graph) -> list[Region | LibraryStep]:
    """Returns the regions and library calls of a group in execution order.

    The level of a value is the largest number of library calls on a path to it. A library call is
    scheduled as early as its operands allow. All other operators of one level form a region.
    """
    calls: dict[str, LibraryStep] = {}
    taken: set[str] = set()
    for node in graph.nodes:
        if is_library_operator(node, graph):
            calls[node.name] = library_step(node, graph, taken)
            taken.update(calls[node.name].covered)
    levels: dict[str, int] = {name: 0 for name in graph.values if name not in graph.producers}
    own: dict[int, list[Node]] = {}
    library: dict[int, list[LibraryStep]] = {}
    waiting = [node for node in graph.nodes if node.name in calls or node.name not in taken]
    while waiting:
        # A call also waits for the operands of its fused epilogue. They may stand after the call's
        # node in the graph.
        node = next(
            one for one in waiting if all(name in levels for name in _awaited_values(one, calls))
        )
        waiting.remove(node)
        level = max((levels[name] for name in _awaited_values(node, calls)), default=0)
        if node.name in calls:
            library.setdefault(level, []).append(calls[node.name])
            levels[calls[node.name].writes] = level + 1
        else:
            levels |= dict.fromkeys(node.outputs, level)
    for node in reversed(graph.nodes):
        if node.name not in taken:
            levels |= dict.fromkeys(node.outputs, _latest_level(node, graph, levels, taken))
    for node in graph.nodes:
        if node.name not in taken:
            own.setdefault(levels[node.outputs[0]], []).append(node)
    found: list[Region | LibraryStep] = []
    for at in sorted({*own, *library}):
        if at in own:
            found.append(Region(tuple(own[at]), _live_out_values(own[at], graph)))
        found += library.get(at, [])
    return found


def _latest_level(
    node: Node, graph: Graph, levels: Mapping[str, int], taken: Container[str]
) -> int:
    """Returns the level to which an operator can be delayed: the lowest level of its readers.

    The kernel that computes this level then computes both the operator and its first reader, so the
    result between them need not be stored in memory. An operator keeps its own level if it has no
    reader, if a library call reads its result, if it updates its input in place, or if its result
    is an output of the group.
    """
    own = levels[node.outputs[0]]
    readers = [reader for name in node.outputs for reader in graph.consumers.get(name, ())]
    if (
        not readers
        or node.op in IN_PLACE_OPERATORS
        or any(name in graph.outputs for name in node.outputs)
    ):
        return own
    if any(reader.name in taken for reader in readers):
        return own
    return max(own, min(levels[reader.outputs[0]] for reader in readers))


def _awaited_values(node: Node, calls: Mapping[str, LibraryStep]) -> tuple[str, ...]:
    return calls[node.name].reads if node.name in calls else node.inputs


def _live_out_values(nodes: Sequence[Node], graph: Graph) -> tuple[str, ...]:
    names = {node.name for node in nodes}
    return tuple(
        value
        for node in nodes
        for value in node.outputs
        if value in graph.outputs
        or node.op in IN_PLACE_OPERATORS
        or any(reader.name not in names for reader in graph.consumers.get(value, ()))
    )


def operands_of(part: Region | LibraryStep) -> tuple[str, ...]:
    """Returns the names of the values that a region's nodes or a library call read."""
    if isinstance(part, LibraryStep):
        return part.reads
    return tuple(name for node in part.nodes for name in node.inputs)


def extract_region(region: Region, graph: Graph) -> Graph:
    """Returns a region as a graph, whose inputs are the region's live-in values."""
    made = {value for node in region.nodes for value in node.outputs}
    read = operands_of(region)
    inputs = [
        name
        for name in dict.fromkeys(read)
        if name not in made and graph.values[name].kind != "constant"
    ]
    values = {name: graph.values[name] for name in (*read, *made)}
    return Graph(graph.name, region.nodes, values, tuple(inputs), region.results)
