"""Stores in memory each constant that a library call reads."""

from __future__ import annotations

from dataclasses import replace

from ms_fusion.graph import Graph, Node
from ms_fusion.lowering.onednn.onednn_steps import LibraryCall
from tbe_impl.runtime.sequence import KernelSequence


def store_constants(graph: Graph, planned: KernelSequence[object]) -> Graph:
    """Adds operators to `graph` that store in memory the constant operands of library calls.

    Returns the new graph. The added operators are the first operators of this graph. Our own
    kernels compute them.

    Args:
        graph: the graph of a group.
        planned: the planned sequence of the group.
    """
    calls = [
        (step.reads, step.kernel.covered)
        for step in planned.steps
        if isinstance(step.kernel, LibraryCall)
    ]
    names = {
        name: f"{name} stored"
        for reads, _ in calls
        for name in reads
        if graph.values[name].kind == "constant"
    }
    if not names:
        return graph
    covered = {name for _, nodes in calls for name in nodes}
    values = dict(graph.values)
    for name, own in names.items():
        values[own] = replace(values[name], name=own, kind="result", data=None)
    first = [Node(f"{own}-op", "BroadcastTo", (name,), (own,)) for name, own in names.items()]
    nodes = [
        replace(node, inputs=tuple(names.get(name, name) for name in node.inputs))
        if node.name in covered
        else node
        for node in graph.nodes
    ]
    return replace(graph, nodes=(*first, *nodes), values=values)
