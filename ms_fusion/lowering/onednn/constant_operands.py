"""Stores constants in memory if a library call reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ms_fusion.graph import Graph, Node
from ms_fusion.lowering.onednn.onednn_steps import LibraryStep


def store_constants(graph: Graph, calls: Sequence[LibraryStep]) -> Graph:
    """Returns `graph` with operators that store each constant operand of a library call in memory.

    These operators come first in the graph and are computed by our own kernels.
    """
    names = {
        name: f"{name} stored"
        for call in calls
        for name in call.reads
        if graph.values[name].kind == "constant"
    }
    if not names:
        return graph
    covered = {name for call in calls for name in call.covered}
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
