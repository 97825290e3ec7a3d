"""Merges matrix products that read the same value into one product and a Split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import is_constant, is_op, opset_version, shape_of

SPLIT_INPUT_OPSET = 13
"""First opset in which Split reads the sizes of its parts as an input."""
MERGED_BYTES_MAX = 1 << 28
"""Weights with more bytes than this are not merged, because merging copies them."""
MERGED_PRODUCTS_MIN = 3
"""Minimum number of products to merge.

Merging two products saves nothing, because a product and a Split replace them.
"""


def merge_shared_products(model: ir.Model) -> None:
    """Merges three or more products x a, x b, x c into one product x [a b c] and a Split.

    The weights must be matrices that no other node reads. If each product has a constant bias, the
    biases are merged too.
    """
    if opset_version(model) < SPLIT_INPUT_OPSET:
        return
    readers: dict[ir.Value, list[ir.Node]] = {}
    for node in model.graph:
        if is_op(node, "MatMul") and node.inputs[0] is not None and _is_own_weight(node.inputs[1]):
            readers.setdefault(node.inputs[0], []).append(node)
    for nodes in readers.values():
        if len(nodes) >= MERGED_PRODUCTS_MIN and _fit(nodes):
            _merge(model, nodes)


def _is_own_weight(value: ir.Value | None) -> bool:
    if value is None or value.const_value is None or not is_constant(value):
        return False
    tensor = value.const_value
    is_matrix = len(tensor.shape) == 2 and tensor.nbytes <= MERGED_BYTES_MAX
    return is_matrix and len(value.uses()) == 1 and not value.is_graph_output()


def _fit(nodes: Sequence[ir.Node]) -> bool:
    weights = [node.inputs[1] for node in nodes]
    dtypes = {value.const_value.dtype for value in weights if value and value.const_value}
    heights = {value.const_value.shape[0] for value in weights if value and value.const_value}
    return len(dtypes) == 1 and len(heights) == 1


def _bias_of(node: ir.Node) -> tuple[ir.Node, ir.Value] | None:
    """Returns (Add, bias): the Add after a product, and the constant vector that the Add adds.

    Returns None if no such Add follows the product, or if another node reads the product or the
    bias.
    """
    made = node.outputs[0]
    uses = made.uses()
    if len(uses) != 1 or made.is_graph_output():
        return None
    (reader,) = (use.node for use in uses)
    other = next((value for value in reader.inputs if value is not made), None)
    width = shape_of(node.inputs[1])
    if not is_op(reader, "Add") or other is None or not is_constant(other) or width is None:
        return None
    is_own = len(other.uses()) == 1 and shape_of(other) == (width[1],)
    return (reader, other) if is_own else None


def _merge(model: ir.Model, nodes: Sequence[ir.Node]) -> None:
    graph = model.graph
    weights = [node.inputs[1].const_value for node in nodes]  # type: ignore[union-attr]
    widths = [one.numpy().shape[1] for one in weights if one is not None]
    found = [_bias_of(node) for node in nodes]
    biases = [one for one in found if one is not None]
    with_bias = len(biases) == len(nodes)
    ends = [add for add, _ in biases] if with_bias else list(nodes)
    name = f"{nodes[0].name or nodes[0].outputs[0].name}/merged"

    def constant(array: np.ndarray, suffix: str) -> ir.Value:
        own = f"{name}_{suffix}"
        value = ir.Value(name=own, const_value=ir.tensor(array, name=own))
        value.shape = ir.Shape(array.shape)
        value.dtype = value.const_value.dtype  # type: ignore[union-attr]
        graph.register_initializer(value)
        return value

    whole = np.concatenate([one.numpy() for one in weights if one is not None], axis=1)
    made = [ir.node("MatMul", [nodes[0].inputs[0], constant(whole, "weight")], name=name)]
    if with_bias:
        vectors = [value.const_value.numpy() for _, value in biases if value.const_value]
        bias = constant(np.concatenate(vectors), "bias")
        made.append(ir.node("Add", [made[-1].outputs[0], bias], name=f"{name}_sum"))
    split = ir.node(
        "Split",
        [made[-1].outputs[0], constant(np.array(widths, np.int64), "sizes")],
        {"axis": -1},
        num_outputs=len(nodes),
        name=f"{name}_split",
    )
    shape = shape_of(ends[0].outputs[0])
    for one in made:
        one.outputs[0].name = f"{one.name}_result"
        one.outputs[0].type = ends[0].outputs[0].type
        if shape is not None:
            one.outputs[0].shape = ir.Shape([*shape[:-1], sum(widths)])
    before = [end.outputs[0] for end in ends]
    for old, new in zip(before, split.outputs, strict=True):
        new.shape, new.type = old.shape, old.type
    removed = [*nodes, *(ends if with_bias else ())]
    ir.convenience.replace_nodes_and_values(
        graph, nodes[0], removed, [*made, split], before, split.outputs
    )
    graph.sort()
