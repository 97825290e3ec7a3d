"""Infers ranks that ONNX's shape inference leaves unknown."""

from __future__ import annotations

import onnx_ir as ir

MOST_AXES = 64
"""Largest rank that is filled in; a larger rank indicates a malicious model."""


def fill_ranks(model: ir.Model) -> bool:
    """Fills in unknown ranks and dtypes; returns True if any were added."""
    found = False
    for graph in model.graphs():
        for node in graph:
            if node.domain or len(node.outputs) != 1 or node.outputs[0].shape is not None:
                continue
            shape = _shape_of(node)
            if shape is not None:
                made, source = node.outputs[0], node.inputs[0]
                made.shape = shape
                if made.dtype is None and source is not None and source.dtype is not None:
                    made.dtype = source.dtype
                found = True
    return found


def _shape_of(node: ir.Node) -> ir.Shape | None:
    shapes = [value.shape if value is not None else None for value in node.inputs]
    if node.op_type == "Reshape" and len(shapes) == 2 and shapes[1] is not None:
        # Only the rank is filled in. ONNX's inference already resolves a constant target shape.
        count = shapes[1][0] if len(shapes[1]) == 1 else None
        return (
            ir.Shape([None] * count) if isinstance(count, int) and 0 <= count <= MOST_AXES else None
        )
    if node.op_type == "GroupNormalization" and shapes and shapes[0] is not None:
        return ir.Shape(list(shapes[0]))
    return None
