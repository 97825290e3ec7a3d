"""A set of operators as one: its inputs, its outputs, and whether it is convex."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ms_fusion.formats.onnx_graph import ABSENT
from ms_fusion.graph import Graph, Node


def fused_node(graph: Graph, names: Sequence[str], op: str, name: str = "") -> Node:
    """The operators as one, with a body.

    Its inputs are what is read from outside, constants of the graph left out; its outputs what is read outside or is a
    result of the graph, each in the order of the operators.

    Args:
        graph: where they stand.
        names: of the operators, in the graph's order.
        op: type of the new operator.
        name: of the new operator; by default that of the last one.
    """
    inside = set(names)
    nodes = tuple(graph.node(one) for one in names)
    made = dict.fromkeys(value for node in nodes for value in node.outputs)
    read = dict.fromkeys(
        value for node in nodes for value in node.inputs if value not in made and value != ABSENT
    )
    results = set(graph.outputs)
    outputs = tuple(
        value
        for node in nodes
        for value in node.outputs
        if value in results or any(one.name not in inside for one in graph.consumers.get(value, ()))
    )
    inputs = tuple(value for value in read if graph.values[value].kind != "constant")
    values = {
        value: graph.values[value]
        for value in (*read, *made, *((ABSENT,) if ABSENT in graph.values else ()))
    }
    for value in inputs:
        values[value] = replace(values[value], kind="input")
    body = Graph(op, nodes, values, inputs, outputs)
    return Node(name or nodes[-1].name, op, inputs, outputs, body=body)


def order_of(graph: Graph) -> dict[str, int]:
    """Place of each node in the graph."""
    return {node.name: place for place, node in enumerate(graph.nodes)}


def is_closed(graph: Graph, names: Iterable[str], order: Mapping[str, int]) -> bool:
    """Whether no path leaves the operators and comes back."""
    inside = set(names)
    last = max(order[name] for name in inside)
    waiting = [
        reader
        for name in inside
        for value in graph.node(name).outputs
        for reader in graph.consumers.get(value, ())
        if reader.name not in inside
    ]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if node.name in seen or order[node.name] > last:
            continue
        seen.add(node.name)
        for value in node.outputs:
            for reader in graph.consumers.get(value, ()):
                if reader.name in inside:
                    return False
                waiting.append(reader)
    return True
