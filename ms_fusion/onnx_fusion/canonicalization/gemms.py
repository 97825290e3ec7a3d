"""a @ b + c of matrices is Gemm(a, b, c); and Gemm(a, b, d @ e) + c is Gemm(a, b, Gemm(d, e, c))."""

from __future__ import annotations

import onnx_ir as ir

from ms_fusion.onnx_fusion.canonicalization.parts import is_op, put, shape_of, version

SINCE = 11
"""From then on what is added may be left out."""
DTYPES = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE})


def with_gemms(model: ir.Model) -> None:
    """Lets matrix products take along what is added to them alone."""
    if version(model) < SINCE:
        return
    moved = False
    for node in list(model.graph):
        if not is_op(node, "Add"):
            continue
        for product, added in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
            made = _alone(product)
            if made is None or added is None or added.dtype not in DTYPES:
                continue
            if _is_product(made) and _fits(added, made):
                put(model, node, "Gemm", [*made.inputs, added], {})
                model.graph.remove(made, safe=True)
                break
            inner = _inner(made)
            if inner is not None and _fits(added, inner):
                bias = put(model, inner, "Gemm", [*inner.inputs, added], {})
                put(
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
        model.graph.sort()  # what is added may be made behind the inner product


def _alone(value: ir.Value | None) -> ir.Node | None:
    """What makes a value that one operator reads once."""
    if value is None or value.is_graph_output() or len(value.uses()) != 1:
        return None
    return value.producer()


def _is_product(node: ir.Node) -> bool:
    """Of two matrices."""
    return (
        is_op(node, "MatMul")
        and all(len(shape_of(one) or ()) == 2 for one in node.inputs)
        and node.outputs[0].dtype in DTYPES
    )


def _inner(node: ir.Node) -> ir.Node | None:
    """The product that a Gemm adds as it is."""
    if (
        not is_op(node, "Gemm")
        or len(node.inputs) < 3
        or node.attributes.get_float("beta", 1.0) != 1.0
    ):
        return None
    found = _alone(node.inputs[2])
    return found if found is not None and _is_product(found) else None


def _fits(added: ir.Value, product: ir.Node) -> bool:
    """Whether it is a row for all rows of the product, or a matrix of the same sizes."""
    left, right = (shape_of(one) for one in product.inputs)
    assert left is not None
    assert right is not None
    columns, shape = right[1], shape_of(added)
    if shape is None or not isinstance(columns, int):
        return False
    return shape == (columns,) or (None not in shape and shape == (left[0], columns))
