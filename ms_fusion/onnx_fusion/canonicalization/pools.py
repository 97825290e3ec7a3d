"""Flatten(GlobalAveragePool(x)) is ReduceMean(x) over the places of the image, without keeping them."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx_fusion.canonicalization.parts import (
    is_op,
    put,
    shape_of,
    small_constant,
    version,
)

AXES_ARE_AN_INPUT = 18


def with_means(model: ir.Model) -> None:
    """Writes each as one operator."""
    for node in list(model.graph):
        if not is_op(node, "GlobalAveragePool"):
            continue
        shape, made = shape_of(node.inputs[0]), node.outputs[0]
        readers = [use.node for use in made.uses()]
        if shape is None or len(shape) < 3 or made.is_graph_output() or len(readers) != 1:
            continue
        if readers[0].graph is not model.graph or not _flattens(readers[0], len(shape)):
            continue
        axes = list(range(2, len(shape)))
        inputs, attributes = [node.inputs[0]], {"keepdims": 0}
        if version(model) >= AXES_ARE_AN_INPUT:
            inputs.append(_known(model, f"{made.name}_axes", axes))
        else:
            attributes["axes"] = axes  # type: ignore[assignment]
        put(model, readers[0], "ReduceMean", inputs, attributes)
        model.graph.remove(node, safe=True)


def _flattens(node: ir.Node, rank: int) -> bool:
    """Whether (n, c, 1, …) becomes (n, c)."""
    if is_op(node, "Flatten"):
        return node.attributes.get_int("axis", 1) in (1, 1 - rank)
    if is_op(node, "Squeeze") and len(node.inputs) > 1:
        axes = small_constant(node.inputs[1])
        return axes is not None and sorted(int(one) % rank for one in axes.reshape(-1)) == list(
            range(2, rank)
        )
    return False


def _known(model: ir.Model, name: str, numbers: list[int]) -> ir.Value:
    """A new constant of the model."""
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
