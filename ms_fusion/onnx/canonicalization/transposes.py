"""Moves Transposes behind sums, so that a chain of residual sums needs no Transposes between."""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import (
    bypass_node,
    is_constant,
    is_op,
    shape_of,
)


def sink_transposes(model: ir.Model) -> None:
    """Rewrites x + Transpose(y) as Transpose(Transpose⁻¹(x) + y), and removes pairs of Transposes.

    A net whose blocks compute with the channels last, but are summed with the channels first, then
    keeps its sums with the channels last. The function may add Transposes at the ends of a chain of
    sums; `transposed_elements` shows whether the model as a whole gains.
    """
    for node in list(model.graph):
        if not is_op(node, "Add") or len(set(node.inputs)) != 2:
            continue
        if any(map(is_constant, node.inputs)) or not _has_equal_ranks(node):
            continue
        for value, other in (node.inputs, node.inputs[::-1]):
            assert value is not None
            assert other is not None
            is_alone = len(value.uses()) == 1 and not value.is_graph_output()
            if is_alone and _order_of(value.producer()):
                _sink(model, node, value, other)
                break
    for node in list(model.graph):
        order = _order_of(node)
        source = node.inputs[0].producer() if order and node.inputs[0] is not None else None
        before = _order_of(source)
        if source is None or before is None or order is None or source.inputs[0] is None:
            continue
        if [before[axis] for axis in order] == sorted(order):
            bypass_node(model, node, source.inputs[0])
    for node in reversed(list(model.graph)):
        if _order_of(node) and not node.outputs[0].uses() and not node.outputs[0].is_graph_output():
            model.graph.remove(node, safe=True)


def transposed_elements(model: ir.Model) -> int:
    """Returns the number of elements that Transposes move; a tensor of unknown size counts as 1."""
    found = 0
    for node in model.graph:
        if _order_of(node):
            sizes = shape_of(node.outputs[0]) or ()
            found += math.prod(size for size in sizes if isinstance(size, int))
    return found


def _has_equal_ranks(node: ir.Node) -> bool:
    """Returns whether all inputs and outputs of a node have the same known rank."""
    shapes = [shape_of(value) for value in (*node.inputs, *node.outputs)]
    return None not in shapes and len({len(shape) for shape in shapes if shape is not None}) == 1


def _order_of(node: ir.Node | None) -> tuple[int, ...] | None:
    """Returns the permutation of a Transpose that states one; None for any other node."""
    if node is None or not is_op(node, "Transpose"):
        return None
    return tuple(node.attributes.get_ints("perm", ())) or None


def _sink(model: ir.Model, node: ir.Node, value: ir.Value, other: ir.Value) -> None:
    """Rewrites the sum of a transposed value and another one; the result keeps its name."""
    transpose = value.producer()
    order = _order_of(transpose)
    assert transpose is not None
    assert order is not None
    inverse = [order.index(axis) for axis in range(len(order))]
    turned = _add_transpose(model, node, other, inverse)
    added = ir.node("Add", [transpose.inputs[0], turned], name=node.name)
    result = added.outputs[0]
    result.name = f"{node.outputs[0].name}_turned"
    result.shape, result.type = _turned_shape(node.outputs[0], inverse), turned.type
    back = ir.node("Transpose", added.outputs, {"perm": list(order)}, name=f"{node.name}_transpose")
    before, after = node.outputs[0], back.outputs[0]
    after.shape, after.type = before.shape, before.type
    ir.convenience.replace_nodes_and_values(
        model.graph, node, [node], [added, back], [before], [after]
    )


def _add_transpose(
    model: ir.Model, before: ir.Node, value: ir.Value, order: Sequence[int]
) -> ir.Value:
    """Adds a Transpose of a value in front of a node. Returns the result of the Transpose."""
    made = ir.node("Transpose", [value], {"perm": list(order)}, name=f"{before.name}_operand")
    result = made.outputs[0]
    result.name = f"{before.outputs[0].name}_operand"
    result.shape, result.type = _turned_shape(value, order), value.type
    model.graph.insert_before(before, made)
    return result


def _turned_shape(value: ir.Value, order: Sequence[int]) -> ir.Shape:
    assert value.shape is not None
    return ir.Shape([value.shape[axis] for axis in order])
