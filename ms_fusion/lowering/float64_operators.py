"""Removes the Casts around operators that MindSpore computes only in float32.

For such an operator, MindSpore casts float64 operands to float32 and the result back to float64.
"""

from __future__ import annotations

from dataclasses import replace

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import operators_with
from ms_fusion.ops.op_info import Trait

NARROWED_OPERATORS = operators_with(Trait.FLOAT32_ONLY_ON_CPU)
"""Operators that MindSpore's CPU library computes only in float32.

For float64 operands, MindSpore inserts Casts before and after the operator.
"""


def widen_to_float64(graph: Graph) -> Graph:
    """Replaces (Cast to float32, operator, Cast to float64) by the operator, applied to float64."""
    if not any(node.op in NARROWED_OPERATORS for node in graph):
        return graph
    whole: dict[str, Node] = {}
    casts: set[str] = set()
    for node in graph:
        behind = _cast_behind(node, graph) if node.op in NARROWED_OPERATORS else None
        before = [_source(name, graph) for name in node.inputs]
        if behind is None or any(value is None or value.dtype != "float64" for value in before):
            continue
        inputs = tuple(value.name for value in before if value)
        whole[node.name] = replace(node, inputs=inputs, outputs=behind.outputs)
        casts |= {behind.name, *(graph.producers[name].name for name in node.inputs)}
    nodes = [whole.get(node.name, node) for node in graph]
    made = {name for node in whole.values() for name in node.outputs}
    read = {*graph.outputs, *(name for node in nodes for name in node.inputs)}
    return replace(
        graph,
        nodes=tuple(
            node
            for node in nodes
            if node.name not in casts or (node.outputs[0] in read and node.outputs[0] not in made)
        ),
    )


def _cast_behind(node: Node, graph: Graph) -> Node | None:
    """Returns the only reader of a node's float32 result if this reader is a Cast to float64.

    Otherwise returns None.
    """
    (name,) = node.outputs
    readers = graph.consumers.get(name, ())
    if name in graph.outputs or len(readers) != 1 or readers[0].op != "Cast":
        return None
    if graph.values[name].dtype != "float32":
        return None
    return readers[0] if graph.outputs_of(readers[0])[0].dtype == "float64" else None


def _source(name: str, graph: Graph) -> Value | None:
    """Returns the operand of the Cast to float32 that produces a value.

    Returns None if the value is not the result of a Cast to float32.
    """
    maker = graph.producers.get(name)
    if maker is None or maker.op != "Cast" or graph.values[name].dtype != "float32":
        return None
    return graph.values[maker.inputs[0]]
