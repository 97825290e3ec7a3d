"""Removes each BroadcastTo that repeats one matrix for all batches of a matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.lowering.onednn.transposes import FOLDED_BEFORE, PRODUCTS


def remove_broadcasts(graph: Graph) -> Graph:
    """Removes each `BroadcastTo` that repeats one matrix and whose readers are matrix products.

    For example, MindSpore lowers `ops.matmul(x, w)` of x (64, 16, 512) and w (512, 512) to a
    BroadcastTo of w to (64, 512, 512) and a BatchMatMul. So MindSpore would write and read w 64
    times.
    """
    if not any(node.op in PRODUCTS for node in graph):
        return graph
    graph = _cast_before_broadcast(graph)
    changed = {node.name: _bypass_broadcast(node, graph) for node in graph if node.op in PRODUCTS}
    if all(changed[node.name] is node for node in graph if node.op in PRODUCTS):
        return graph
    nodes = [changed.get(node.name, node) for node in graph]
    read = {*graph.outputs, *(name for node in nodes for name in node.inputs)}
    unread = [node for node in nodes if node.op == "BroadcastTo" and node.outputs[0] not in read]
    return replace(graph, nodes=tuple(node for node in nodes if node not in unread))


def _cast_before_broadcast(graph: Graph) -> Graph:
    """Exchanges each BroadcastTo with its reader if the only reader is a Cast.

    The Cast then precedes the BroadcastTo. MindSpore inserts such Casts because it broadcasts
    float16 arrays in float32, between two Casts.
    """
    values, nodes = dict(graph.values), {node.name: node for node in graph}
    for node in graph:
        maker = graph.producers.get(node.inputs[0]) if node.op == "Cast" else None
        if (
            maker is None
            or maker.op != "BroadcastTo"
            or not _has_one_reader(maker.outputs[0], graph)
        ):
            continue
        source, result = graph.values[maker.inputs[0]], graph.outputs_of(node)[0]
        if source.kind == "constant":
            continue
        cast = replace(source, name=f"{result.name} cast", dtype=result.dtype, kind="result")
        values[cast.name] = cast
        told = node.inputs[1:]
        nodes[maker.name] = replace(node, inputs=(source.name, *told), outputs=(cast.name,))
        whole = (cast.name, *maker.inputs[1:])
        nodes[node.name] = replace(maker, inputs=whole, outputs=node.outputs)
    return replace(graph, nodes=tuple(nodes[node.name] for node in graph), values=values)


def _has_one_reader(value: str, graph: Graph) -> bool:
    return value not in graph.outputs and len(graph.consumers[value]) == 1


def flatten_batch_shapes(a: Value, b: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the operand shapes of a product of `a` and `b`.

    If `b` is one matrix, the batch axes of `a` are merged into the row axis of `a`.
    """
    rows, columns = shape_of(a), shape_of(b)
    if len(rows) > 2 and math.prod(columns[:-2]) == 1:
        return (math.prod(rows[:-1]), rows[-1]), columns[-2:]
    return rows, columns


def _bypass_broadcast(node: Node, graph: Graph) -> Node:
    """Returns the product `node` with the operands of BroadcastTo nodes in place of their results.

    There are two conditions for this replacement. The BroadcastTo repeats one matrix. The shape of
    the product's result stays the same.
    """
    operands = [graph.values[name] for name in node.inputs[:2]]
    result = graph.outputs_of(node)[0]
    if any(value.is_dynamic for value in (*operands, result)):
        return node
    for at in (1, 0):
        maker = graph.producers.get(operands[at].name)
        if maker is None or maker.op != "BroadcastTo":
            continue
        source = graph.values[maker.inputs[0]]
        if source.kind == "constant" or not _is_one_matrix(source, operands[at]):
            continue
        batches = shape_of(source)[:-2], shape_of(operands[1 - at])[:-2]
        if np.broadcast_shapes(*batches) == result.shape[:-2]:
            operands[at] = source
            node = _replace_operands(node, [value.name for value in operands])
    return node


def _is_one_matrix(source: Value, repeated: Value) -> bool:
    """Returns whether `source` is one matrix, and `repeated` is a batch of copies of `source`."""
    shape = shape_of(source)
    return len(shape) > 1 and shape[-2:] == repeated.shape[-2:] and math.prod(shape[:-2]) == 1


def _replace_operands(node: Node, operands: Sequence[str]) -> Node:
    """Returns the product with new operands and an attribute for the folded BroadcastTo."""
    attrs = {**dict(node.attrs), FOLDED_BEFORE: (*node.attr(FOLDED_BEFORE, ()), "BroadcastTo")}
    inputs = (*operands, *node.inputs[len(operands) :])
    return replace(node, inputs=inputs, attrs=tuple(sorted(attrs.items())))


def shape_of(value: Value) -> tuple[int, ...]:
    """Returns the static extents of a value."""
    return tuple(map(int, value.shape))
