"""Fuses an addition into a matrix product: a @ b + c = Gemm(a, b, c).

If a Gemm already adds a product d @ e, the addition is fused into the product d @ e:

Gemm(a, b, d @ e) + c = Gemm(a, b, Gemm(d, e, c)).
"""

from __future__ import annotations

import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import is_op, opset_version, replace_node, shape_of

OPTIONAL_ADDEND_OPSET = 11
"""First opset in which the addend of Gemm is optional."""
DTYPES = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE})


def fuse_add_into_gemm(model: ir.Model) -> None:
    """Fuses each Add into the matrix product whose result the Add reads, in place.

    An Add is fused only if no other node reads the product.
    """
    if opset_version(model) < OPTIONAL_ADDEND_OPSET:
        return
    moved = False
    for node in list(model.graph):
        if not is_op(node, "Add"):
            continue
        for product, added in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
            made = _single_use_producer(product)
            if made is None or added is None or added.dtype not in DTYPES:
                continue
            if _is_product(made) and _is_valid_addend(added, made):
                replace_node(model, node, "Gemm", [*made.inputs, added], {})
                model.graph.remove(made, safe=True)
                break
            inner = _product_addend(made)
            if inner is not None and _is_valid_addend(added, inner):
                bias = replace_node(model, inner, "Gemm", [*inner.inputs, added], {})
                replace_node(
                    model,
                    node,
                    "Gemm",
                    [*made.inputs[:2], bias.outputs[0]],
                    {key: one.value for key, one in made.attributes.items()},
                )
                model.graph.remove(made, safe=True)
                moved = True
                break
    if moved:
        model.graph.sort()  # the addend may stand after the inner product


def _single_use_producer(value: ir.Value | None) -> ir.Node | None:
    """Returns the producer of `value` if exactly one node input reads the value.

    Returns None if several inputs read the value, if the value is an output of the model, or if the
    value has no producer.
    """
    if value is None or value.is_graph_output() or len(value.uses()) != 1:
        return None
    return value.producer()


def _is_product(node: ir.Node) -> bool:
    """Returns whether the node is a MatMul of two matrices, with a result dtype in `DTYPES`."""
    return (
        is_op(node, "MatMul")
        and all(len(shape_of(one) or ()) == 2 for one in node.inputs)
        and node.outputs[0].dtype in DTYPES
    )


def _product_addend(node: ir.Node) -> ir.Node | None:
    """Returns the MatMul that computes the addend of a Gemm.

    The Gemm must have beta = 1. The MatMul must multiply two matrices, and no other node may read
    its result. Returns None for any other `node`.
    """
    if (
        not is_op(node, "Gemm")
        or len(node.inputs) < 3
        or node.attributes.get_float("beta", 1.0) != 1.0
    ):
        return None
    found = _single_use_producer(node.inputs[2])
    return found if found is not None and _is_product(found) else None


def _is_valid_addend(added: ir.Value, product: ir.Node) -> bool:
    """Returns whether `added` has the product's shape or is a vector of one value per column."""
    left, right = (shape_of(one) for one in product.inputs)
    assert left is not None
    assert right is not None
    columns, shape = right[1], shape_of(added)
    if shape is None or not isinstance(columns, int):
        return False
    return shape == (columns,) or (None not in shape and shape == (left[0], columns))
