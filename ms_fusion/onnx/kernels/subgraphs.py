"""Turns a set of operators into one fused operator, and tests whether the set is convex."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ms_fusion.graph import Graph, Node
from ms_fusion.readers.onnx_graph import ABSENT_INPUT
from tbe_impl.reachability import reachable


def fused_node(graph: Graph, names: Sequence[str], op: str, name: str = "") -> Node:
    """Builds one fused operator from several operators, which become its body.

    The inputs of the fused operator are the values that the operators read from outside, except
    constants. The outputs are the values that other operators read, and the results of the graph.
    Inputs and outputs are in the order of the operators.

    Args:
        graph: the graph of the operators.
        names: names of the operators, in the graph's order.
        op: type of the fused operator.
        name: name of the fused operator; if empty, the name of the last operator.
    """
    inside = set(names)
    nodes = tuple(graph.node(one) for one in names)
    made = dict.fromkeys(value for node in nodes for value in node.outputs)
    read = dict.fromkeys(
        value
        for node in nodes
        for value in node.inputs
        if value not in made and value != ABSENT_INPUT
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
        for value in (*read, *made, *((ABSENT_INPUT,) if ABSENT_INPUT in graph.values else ()))
    }
    for value in inputs:
        values[value] = replace(values[value], kind="input")
    body = Graph(op, nodes, values, inputs, outputs)
    return Node(name or nodes[-1].name, op, inputs, outputs, body=body)


def order_of(graph: Graph) -> dict[str, int]:
    """Returns the position in the graph of each node, by the node's name."""
    return {node.name: place for place, node in enumerate(graph.nodes)}


def is_convex(graph: Graph, names: Iterable[str], order: Mapping[str, int]) -> bool:
    """Returns whether no path leaves the set of operators and returns to it."""
    inside = set(names)
    last = max(order[name] for name in inside)

    def readers_of(node: Node) -> list[Node]:
        readers = (one for value in node.outputs for one in graph.consumers.get(value, ()))
        return [one for one in readers if order[one.name] <= last]

    starts = (one for name in inside for one in readers_of(graph.node(name)))
    outside = reachable(
        (one for one in starts if one.name not in inside), readers_of, key=lambda node: node.name
    )
    return not any(one.name in inside for node in outside for one in readers_of(node))
