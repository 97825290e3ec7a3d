"""Partitions a group (a fused subgraph) into library calls and regions of other operators."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from ms_fusion.graph import Graph, Node
from ms_fusion.lowering.composite_lowering import IN_PLACE_OPERATORS
from ms_fusion.lowering.onednn.onednn_steps import LibraryCall, is_library_operator, library_step
from tbe_impl.runtime.sequence import KernelSequence, Step


@dataclass(frozen=True)
class Region:
    """Operators between library calls; one of our own kernels computes them.

    Attributes:
        nodes: the operators in topological order.
    """

    nodes: tuple[Node, ...]


PlannedStep = Step[Region | LibraryCall]
"""A library call or a region in a planned sequence, with the values that it reads and writes.

A region reads its live-in values and writes its live-out values. Live-out values are outputs of the
group, results of in-place operators, and values that nodes outside of the region read.
"""


def partition_group(graph: Graph) -> KernelSequence[Region | LibraryCall]:
    """Returns the planned sequence of a group: regions and library calls in execution order.

    The level of a value is the number of library calls on a path from an input of the group to the
    value. If there are several paths, the largest number counts. A library call is scheduled as
    early as its operands allow. All other operators whose results have the same level form a
    region.
    """
    calls: dict[str, Step[LibraryCall]] = {}
    taken: set[str] = set()
    for node in graph.nodes:
        if is_library_operator(node, graph):
            calls[node.name] = library_step(node, graph, taken)
            taken.update(calls[node.name].kernel.covered)
    levels: dict[str, int] = {name: 0 for name in graph.values if name not in graph.producers}
    own: dict[int, list[Node]] = {}
    library: dict[int, list[Step[LibraryCall]]] = {}
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
            levels |= dict.fromkeys(calls[node.name].writes, level + 1)
        else:
            levels |= dict.fromkeys(node.outputs, level)
    for node in reversed(graph.nodes):
        if node.name not in taken:
            levels |= dict.fromkeys(node.outputs, _latest_level(node, graph, levels, taken))
    for node in graph.nodes:
        if node.name not in taken:
            own.setdefault(levels[node.outputs[0]], []).append(node)
    found: list[PlannedStep] = []
    for at in sorted({*own, *library}):
        if at in own:
            found.append(_plan_region(own[at], graph))
        found += library.get(at, [])
    return KernelSequence((*graph.inputs, *graph.outputs), tuple(found))


def _plan_region(nodes: Sequence[Node], graph: Graph) -> PlannedStep:
    results = _live_out_values(nodes, graph)
    sizes = tuple(graph.values[name].bytes for name in results)
    return Step(Region(tuple(nodes)), _live_in_values(nodes, graph), results, sizes)


def _latest_level(
    node: Node, graph: Graph, levels: Mapping[str, int], taken: Container[str]
) -> int:
    """Returns the level to which an operator can be delayed: the lowest level of its readers.

    After the delay, one kernel computes both the operator and its first reader. So the result of
    the operator need not be stored in memory. In four cases an operator keeps its own level: it has
    no reader, a library call reads its result, it updates its input in place, or its result is an
    output of the group.
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


def _awaited_values(node: Node, calls: Mapping[str, Step[LibraryCall]]) -> tuple[str, ...]:
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


def _live_in_values(nodes: Sequence[Node], graph: Graph) -> tuple[str, ...]:
    made = {value for node in nodes for value in node.outputs}
    read = dict.fromkeys(name for node in nodes for name in node.inputs)
    return tuple(
        name for name in read if name not in made and graph.values[name].kind != "constant"
    )


def extract_region(step: PlannedStep, graph: Graph) -> Graph:
    """Returns the region of a planned step as a graph, with the live-in values as inputs."""
    assert isinstance(step.kernel, Region)
    nodes = step.kernel.nodes
    names = (name for node in nodes for name in (*node.inputs, *node.outputs))
    values = {name: graph.values[name] for name in names}
    return Graph(graph.name, nodes, values, step.reads, step.writes)
