"""Partitions a group into library calls and the operators in between."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.graph import Graph, Node
from ms_fusion.kernel_server.composite_lowering import IN_PLACE
from ms_fusion.kernel_server.onednn_steps import LibraryStep, is_called, library_step


@dataclass(frozen=True)
class Region:
    """Operators between calls of the library.

    Attributes:
        nodes: in order.
        results: names of the values that are needed outside.
    """

    nodes: tuple[Node, ...]
    results: tuple[str, ...]


def parts(graph: Graph) -> list[Region | LibraryStep]:
    """Calls of the library as early as they can be, and between them the operators that wait for the same calls."""
    calls: dict[str, LibraryStep] = {}
    taken: set[str] = set()
    for node in graph.nodes:
        if is_called(node, graph):
            calls[node.name] = library_step(node, graph, taken)
            taken.update(calls[node.name].covered)
    levels: dict[str, int] = {name: 0 for name in graph.values if name not in graph.producers}
    own: dict[int, list[Node]] = {}
    library: dict[int, list[LibraryStep]] = {}
    waiting = [node for node in graph.nodes if node.name in calls or node.name not in taken]
    while waiting:
        # a call waits for what follows it too, which may stand behind it
        node = next(one for one in waiting if all(name in levels for name in _awaited(one, calls)))
        waiting.remove(node)
        level = max((levels[name] for name in _awaited(node, calls)), default=0)
        if node.name in calls:
            library.setdefault(level, []).append(calls[node.name])
            levels[calls[node.name].writes] = level + 1
        else:
            levels |= dict.fromkeys(node.outputs, level)
    for node in reversed(graph.nodes):
        if node.name not in taken:
            levels |= dict.fromkeys(node.outputs, _latest(node, graph, levels, taken))
    for node in graph.nodes:
        if node.name not in taken:
            own.setdefault(levels[node.outputs[0]], []).append(node)
    found: list[Region | LibraryStep] = []
    for at in sorted({*own, *library}):
        if at in own:
            found.append(Region(tuple(own[at]), _needed(own[at], graph)))
        found += library.get(at, [])
    return found


def _latest(node: Node, graph: Graph, levels: Mapping[str, int], taken: Container[str]) -> int:
    """The level of the first of our kernels that reads its results: beside it they need no memory."""
    own = levels[node.outputs[0]]
    readers = [reader for name in node.outputs for reader in graph.consumers.get(name, ())]
    if not readers or node.op in IN_PLACE or any(name in graph.outputs for name in node.outputs):
        return own
    if any(reader.name in taken for reader in readers):
        return own
    return max(own, min(levels[reader.outputs[0]] for reader in readers))


def _awaited(node: Node, calls: Mapping[str, LibraryStep]) -> tuple[str, ...]:
    return calls[node.name].reads if node.name in calls else node.inputs


def _needed(nodes: Sequence[Node], graph: Graph) -> tuple[str, ...]:
    names = {node.name for node in nodes}
    return tuple(
        value
        for node in nodes
        for value in node.outputs
        if value in graph.outputs
        or node.op in IN_PLACE
        or any(reader.name not in names for reader in graph.consumers.get(value, ()))
    )


def reads(part: Region | LibraryStep) -> tuple[str, ...]:
    if isinstance(part, LibraryStep):
        return part.reads
    return tuple(name for node in part.nodes for name in node.inputs)


def alone(region: Region, graph: Graph) -> Graph:
    """A region by itself."""
    made = {value for node in region.nodes for value in node.outputs}
    read = reads(region)
    inputs = [
        name
        for name in dict.fromkeys(read)
        if name not in made and graph.values[name].kind != "constant"
    ]
    values = {name: graph.values[name] for name in (*read, *made)}
    return Graph(graph.name, region.nodes, values, tuple(inputs), region.results)
