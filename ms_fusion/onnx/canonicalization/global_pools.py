"""Rewrites Flatten(GlobalAveragePool(x)) as ReduceMean(x) over the spatial axes."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import (
    is_op,
    opset_version,
    replace_node,
    shape_of,
    small_constant,
)

AXES_INPUT_OPSET = 18


def rewrite_global_average_pools(model: ir.Model) -> None:
    """Replaces each GlobalAveragePool and the Flatten or Squeeze after it by one ReduceMean."""
    for node in list(model.graph):
        if not is_op(node, "GlobalAveragePool"):
            continue
        shape, made = shape_of(node.inputs[0]), node.outputs[0]
        readers = [use.node for use in made.uses()]
        if shape is None or len(shape) < 3 or made.is_graph_output() or len(readers) != 1:
            continue
        if readers[0].graph is not model.graph or not _is_flatten(readers[0], len(shape)):
            continue
        axes = list(range(2, len(shape)))
        inputs, attributes = [node.inputs[0]], {"keepdims": 0}
        if opset_version(model) >= AXES_INPUT_OPSET:
            inputs.append(_add_constant(model, f"{made.name}_axes", axes))
        else:
            attributes["axes"] = axes  # type: ignore[assignment]
        replace_node(model, readers[0], "ReduceMean", inputs, attributes)
        model.graph.remove(node, safe=True)


def _is_flatten(node: ir.Node, rank: int) -> bool:
    """Returns whether the node maps the shape (n, c, 1, …) to (n, c)."""
    if is_op(node, "Flatten"):
        return node.attributes.get_int("axis", 1) in (1, 1 - rank)
    if is_op(node, "Squeeze") and len(node.inputs) > 1:
        axes = small_constant(node.inputs[1])
        return axes is not None and sorted(int(one) % rank for one in axes.reshape(-1)) == list(
            range(2, rank)
        )
    return False


def _add_constant(model: ir.Model, name: str, numbers: list[int]) -> ir.Value:
    """Adds a constant int64 vector to the model and returns it."""
    taken = {value.name for node in model.graph.all_nodes() for value in node.outputs}
    taken |= {value.name for value in model.graph.inputs} | model.graph.initializers.keys()
    while name in taken:
        name = f"{name}'"
    tensor = ir.tensor(np.array(numbers, np.int64), name=name)
    value = ir.Value(
        name=name,
        shape=ir.Shape(tensor.shape.numpy()),
        type=ir.TensorType(ir.DataType.INT64),
        const_value=tensor,
    )
    model.graph.register_initializer(value)
    return value
