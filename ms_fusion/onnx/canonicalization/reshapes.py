"""Merges layout operators that keep the order of elements, or moves these operators later.

A layout operator, such as Reshape or Transpose, only changes the shape or moves elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import (
    is_constant,
    is_op,
    opset_version,
    replace_node,
    shape_of,
)

ZERO_MEANS_COPY_OPSET = 5
"""First opset in which Reshape reads its sizes as an input, where 0 copies a size."""


def merge_reshapes(model: ir.Model) -> None:
    """Merges consecutive Reshapes; replaces each order-preserving Transpose by a Reshape.

    A Transpose keeps the order of the elements if it moves only axes of size 1. An example is the
    Transpose from (n, t, 1, d) to (n, 1, t, d) in an attention with one head.
    """
    if opset_version(model) < ZERO_MEANS_COPY_OPSET:
        return
    for node in list(model.graph):
        if is_op(node, "Transpose") and _keeps_order(node):
            _replace_by_reshape(model, node, node.inputs[0])
        elif is_op(node, "Reshape") and not node.attributes.get_int("allowzero", 0):
            before = node.inputs[0].producer() if node.inputs[0] is not None else None
            is_alone = node.inputs[0] is not None and len(node.inputs[0].uses()) == 1
            if before is not None and is_op(before, "Reshape") and is_alone:
                _replace_by_reshape(model, node, before.inputs[0])


def _keeps_order(node: ir.Node) -> bool:
    shape = shape_of(node.inputs[0])
    order = node.attributes.get_ints("perm", ())
    if shape is None or len(order) != len(shape):
        return False
    wide = [axis for axis in order if shape[axis] != 1]
    return wide == sorted(wide)


def _replace_by_reshape(model: ir.Model, node: ir.Node, given: ir.Value | None) -> None:
    """Replaces a node by a Reshape of `given` to the shape of the node's result.

    A Reshape can copy an unknown size from the same axis of `given`. One further unknown size can
    follow from the number of elements. If more sizes are unknown, the node is left unchanged.
    """
    before, after = shape_of(given), shape_of(node.outputs[0])
    if given is None or before is None or after is None:
        return
    target = [_reshape_size(size, place, before) for place, size in enumerate(after)]
    if target.count(-1) > 1 or 0 in (*before, *after):
        return
    sizes = _sizes(model, f"{node.outputs[0].name}_sizes", target)
    replace_node(model, node, "Reshape", [given, sizes], {})


def _sizes(model: ir.Model, name: str, target: Sequence[int]) -> ir.Value:
    """Adds an int64 constant with the sizes `target` to the model, and returns the constant."""
    while name in model.graph.initializers:
        name += "_"
    sizes = ir.Value(name=name, const_value=ir.tensor(np.array(target, np.int64), name=name))
    sizes.shape, sizes.dtype = ir.Shape([len(target)]), ir.DataType.INT64
    model.graph.register_initializer(sizes)
    return sizes


def _reshape_size(size: Any, place: int, before: Sequence[Any]) -> int:
    if isinstance(size, int):
        return size
    is_copy = size is not None and place < len(before) and before[place] == size
    return 0 if is_copy else -1


def sink_unit_reshapes(model: ir.Model) -> None:
    """Moves a Reshape that only adds or removes axes of size 1 behind its consumer.

    The consumer must process each row (last axis) separately. Three kinds of operators do so: a
    product with a constant matrix, a sum with a constant vector, and a Split along the last axis.
    The moved Reshape can often be merged with a later Reshape.
    """
    for node in list(model.graph):
        view = node.inputs[0].producer() if node.inputs and node.inputs[0] is not None else None
        if view is None or not is_op(view, "Reshape") or not _reads_rows(node):
            continue
        given, result = view.inputs[0], view.outputs[0]
        before, after = shape_of(given), shape_of(result)
        if before is None or after is None or len(result.uses()) > 1 or result.is_graph_output():
            continue
        is_unit = [one for one in before if one != 1] == [one for one in after if one != 1]
        if not is_unit or before[-1] != after[-1] or not all(map(_is_int, (*before, *after))):
            continue
        node.replace_input_with(0, given)
        for made in list(node.outputs):
            shape = shape_of(made)
            if shape is None:
                continue
            row = ir.Value(name=made.name, shape=made.shape, type=made.type)
            sizes = _sizes(model, f"{made.name}_sizes", [int(size) for size in shape])
            made.shape = ir.Shape((*before[:-1], shape[-1]))
            back = ir.Node("", "Reshape", [made, sizes], outputs=[row], name=f"{made.name}_shape")
            ir.convenience.replace_all_uses_with(made, row, replace_graph_outputs=True)
            back.replace_input_with(0, made)
            made.name = f"{made.name}_rows"
            model.graph.insert_after(node, back)


def _is_int(size: Any) -> bool:
    return isinstance(size, int)


def _reads_rows(node: ir.Node) -> bool:
    """Returns whether each row of the node's result depends on only one row of its first input."""
    if is_op(node, "Split"):
        shape = shape_of(node.inputs[0])
        axis = node.attributes.get_int("axis", 0)
        return shape is not None and axis in (-1, len(shape) - 1)
    if not is_op(node, "MatMul", "Add") or len(node.inputs) != 2:
        return False
    other = shape_of(node.inputs[1])
    rank = 2 if node.op_type == "MatMul" else 1
    return other is not None and len(other) == rank and is_constant(node.inputs[1])
