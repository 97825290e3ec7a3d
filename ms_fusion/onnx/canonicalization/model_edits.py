"""Queries and edits an ONNX model, for several passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

KNOWN_ELEMENTS = 64


def is_op(node: ir.Node | None, *types: str) -> bool:
    """Returns whether the node is an operator of ONNX's own domain with one of the given types."""
    return node is not None and node.op_type in types and node.domain in ("", "ai.onnx")


def opset_version(model: ir.Model) -> int:
    """Returns the opset version of ONNX's own domain."""
    return model.opset_imports.get("", model.opset_imports.get("ai.onnx", 0))


def small_constant(value: ir.Value | None) -> np.ndarray | None:
    """Returns the array of a constant with at most `KNOWN_ELEMENTS` elements, otherwise None."""
    if not is_constant(value) or value is None or value.const_value is None:
        return None
    tensor = value.const_value
    if tensor.size > KNOWN_ELEMENTS or tensor.dtype == ir.DataType.STRING:
        return None
    return tensor.numpy()


def is_constant(value: ir.Value | None) -> bool:
    """Returns whether the value is an initializer that is not also an input of the model."""
    return value is not None and value.const_value is not None and not value.is_graph_input()


def shape_of(value: ir.Value | None) -> tuple[Any, ...] | None:
    """Returns a tuple with the size of each axis of a value, or None if the rank is unknown.

    A size is an integer, the name of a dynamic size, or None if the size is unknown.
    """
    if value is None or value.shape is None:
        return None
    return tuple(size if isinstance(size, int) else size.value for size in value.shape)


def replace_node(
    model: ir.Model,
    old: ir.Node,
    kind: str,
    inputs: Sequence[ir.Value | None],
    attributes: dict[str, Any],
) -> ir.Node:
    """Replaces an operator that has one result by an operator of type `kind`.

    The result keeps its name.
    """
    before = old.outputs[0]
    made = ir.node(kind, inputs, attributes, name=old.name)
    made.outputs[0].shape, made.outputs[0].type = before.shape, before.type
    ir.convenience.replace_nodes_and_values(model.graph, old, [old], [made], [before], made.outputs)
    return made


def bypass_node(model: ir.Model, node: ir.Node, given: ir.Value) -> bool:
    """Removes an operator whose result equals `given`; readers of the result then read `given`.

    Returns True if the operator was removed. If the operator's result is an output of the model,
    the function returns False and changes nothing, because outputs must keep their names.
    """
    made = node.outputs[0]
    if made.is_graph_output():
        return False
    ir.convenience.replace_all_uses_with(made, given)
    model.graph.remove(node, safe=True)
    return True


def remove_unread_initializers(model: ir.Model) -> None:
    """Removes initializers that no operator reads and that are neither an input nor an output."""
    for graph in model.graphs():
        for name, value in list(graph.initializers.items()):
            if not (value.uses() or value.is_graph_input() or value.is_graph_output()):
                graph.initializers.pop(name)
