"""Rewrites torch's export of nn.MultiheadAttention to the usual form of attention.

The export stacks queries, keys and values on a new axis and moves this axis to the front. The usual
form applies a Split to the packed tensor instead. The export also multiplies tensors of three axes;
their first axis merges batch and heads. The usual form multiplies tensors of (batch, heads, tokens,
size). If the batch size is dynamic, the export transposes the keys as a tensor of three axes. The
usual form transposes a tensor of four axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ms_fusion.onnx.canonicalization.model_edits import (
    is_op,
    opset_version,
    shape_of,
    small_constant,
)
from ms_fusion.onnx.canonicalization.shared_products import SPLIT_INPUT_OPSET

STACKED = 3
"""Number of stacked tensors: queries, keys and values."""


def rewrite_exported_attention(model: ir.Model) -> None:
    """Rewrites the attentions of a model in place: key transposes, packed tensors, and heads.

    The heads are rewritten only in attentions with the batch size 1.
    """
    for node in list(model.graph):
        if is_op(node, "Reshape") and node.graph is model.graph:
            _transpose_matrices(model, node)
    if opset_version(model) < SPLIT_INPUT_OPSET:
        return
    for node in list(model.graph):
        if is_op(node, "Squeeze") and node.graph is model.graph:
            _split_stack(model, node)
    for node in list(model.graph):
        if is_op(node, "MatMul") and node.graph is model.graph:
            _separate_heads(model, node)


def _sizes(value: ir.Value | None) -> Sequence[int | tuple[ir.Value, int]] | None:
    """Returns the sizes in a tensor that holds a shape.

    A constant size is an integer. A size that an operator reads from a tensor is a pair (tensor,
    axis). Returns None if a size is computed in another way.
    """
    known = small_constant(value)
    if known is not None:
        return [int(one) for one in known.ravel()]
    node = value.producer() if value is not None else None
    if node is not None and is_op(node, "Shape"):
        (source,) = node.inputs
        shape = shape_of(source)
        if source is None or shape is None:
            return None
        begin, end = node.attributes.get_int("start", 0), node.attributes.get_int("end", len(shape))
        return [(source, axis) for axis in range(len(shape))][begin:end]
    if node is not None and is_op(node, "Concat"):
        parts = [_sizes(one) for one in node.inputs]
        return None if None in parts else [size for part in parts if part for size in part]
    if node is not None and is_op(node, "Slice"):
        whole, *limits = (_sizes(one) for one in node.inputs[:3])
        axes = [small_constant(one) for one in node.inputs[3:] if one is not None]
        bounds = [one[0] for one in limits if one and len(one) == 1]
        plain = all(one is not None and one.ravel().tolist() in ([0], [1]) for one in axes)
        if whole is not None and plain and len(bounds) == len(limits) == 2:
            first, last = bounds
            if isinstance(first, int) and isinstance(last, int):
                return whole[first:last]
    return None


def _transpose_matrices(model: ir.Model, last: ir.Node) -> None:
    """Replaces Reshape(Transpose(Reshape(x))) by a Transpose of the last two of four axes.

    The first Reshape merges the axes of batch and heads, and the second one separates them.
    """
    turned = _producer(last.inputs[0], "Transpose")
    first = _producer(turned.inputs[0], "Reshape") if turned else None
    if turned is None or first is None or first.inputs[0] is None:
        return
    x, shape = first.inputs[0], shape_of(first.inputs[0])
    merged, apart = _sizes(first.inputs[1]), _sizes(last.inputs[1])
    if shape is None or len(shape) != 4 or merged is None or apart is None:
        return
    if tuple(turned.attributes.get_ints("perm", ())) != (0, 2, 1):
        return

    def is_size(one: int | tuple[ir.Value, int], axis: int) -> bool:
        return one == ((x, axis) if isinstance(one, tuple) else shape[axis])

    if len(merged) != 3 or merged[0] != -1 or not (is_size(merged[1], 2) and is_size(merged[2], 3)):
        return
    if len(apart) != 4 or not all(map(is_size, apart, (0, 1, 3, 2))):
        return
    made = ir.node("Transpose", [x], {"perm": [0, 1, 3, 2]}, name=last.name)
    result = made.outputs[0]
    result.name = f"{last.outputs[0].name}_turned"
    result.shape, result.type = ir.Shape([shape[axis] for axis in (0, 1, 3, 2)]), x.type
    ir.convenience.replace_nodes_and_values(
        model.graph, last, [last], [made], [last.outputs[0]], [result]
    )


def _constant(model: ir.Model, name: str, values: Sequence[int]) -> ir.Value:
    while name in model.graph.initializers:
        name += "_"
    array = np.array(values, np.int64)
    value = ir.Value(name=name, const_value=ir.tensor(array, name=name))
    value.shape, value.dtype = ir.Shape(array.shape), ir.DataType.INT64
    model.graph.register_initializer(value)
    return value


def _producer(value: ir.Value | None, op: str) -> ir.Node | None:
    """Returns the producer of a value if it is an operator of type `op` with a single reader."""
    node = value.producer() if value is not None else None
    alone = value is not None and len(value.uses()) == 1 and not value.is_graph_output()
    return node if is_op(node, op) and alone else None


def _split_stack(model: ir.Model, squeeze: ir.Node) -> None:
    """Replaces Gather(Squeeze(Transpose(Unsqueeze(Reshape(x)))), i) by the parts of Split(x).

    x has the shape (…, 3 · d), and the Reshape changes it to (…, 3, d). The operators after the
    Reshape only move the axis of size 3 to the front. Then each Gather selects one index of this
    axis.
    """
    turned = _producer(squeeze.inputs[0], "Transpose")
    wide = _producer(turned.inputs[0], "Unsqueeze") if turned else None
    view = _producer(wide.inputs[0], "Reshape") if wide else None
    if turned is None or wide is None or view is None or view.inputs[0] is None:
        return
    packed, apart = shape_of(view.inputs[0]), shape_of(view.outputs[0])
    added, removed = small_constant(wide.inputs[1]), small_constant(squeeze.inputs[1])
    if packed is None or apart is None or added is None or removed is None:
        return
    if len(apart) != len(packed) + 1 or apart[-2] != STACKED or not isinstance(apart[-1], int):
        return
    if packed[-1] != STACKED * apart[-1] or apart[:-2] != packed[:-1]:
        return
    axes: list[Any] = list(range(len(apart)))
    for axis in sorted(int(one) % (len(axes) + added.size) for one in added.ravel()):
        axes.insert(axis, None)
    axes = [axes[axis] for axis in turned.attributes.get_ints("perm", ())]
    gone = {int(one) % len(axes) for one in removed.ravel()} if axes else set()
    if any(axes[axis] is not None for axis in gone):
        return
    left = [one for place, one in enumerate(axes) if place not in gone]
    last = len(apart) - 1
    if left != [last - 1, *range(last - 1), last]:
        return
    readers = [use.node for use in squeeze.outputs[0].uses()]
    picked = [small_constant(reader.inputs[1]) for reader in readers if is_op(reader, "Gather")]
    numbers = [int(one) for one in picked if one is not None and one.ndim == 0]
    is_first = all(reader.attributes.get_int("axis", 0) == 0 for reader in readers)
    if len(numbers) != len(readers) or not is_first or squeeze.outputs[0].is_graph_output():
        return
    sizes = _constant(model, f"{squeeze.outputs[0].name}_sizes", [apart[-1]] * STACKED)
    split = ir.node(
        "Split", [view.inputs[0], sizes], {"axis": -1}, num_outputs=STACKED, name=squeeze.name
    )
    before = [reader.outputs[0] for reader in readers]
    after = [split.outputs[number % STACKED] for number in numbers]
    if len(set(after)) < len(after):
        return
    for number, value in enumerate(split.outputs):
        value.name = f"{squeeze.outputs[0].name}_{number}"
        value.shape = ir.Shape((*packed[:-1], apart[-1]))
        value.type = squeeze.outputs[0].type
    ir.convenience.replace_nodes_and_values(
        model.graph, squeeze, [*readers, squeeze], [split], before, after
    )
    model.graph.sort()


def _separate_heads(model: ir.Model, product: ir.Node) -> None:
    """Rewrites an attention on tensors of three axes, (heads, tokens, size), to four axes.

    A Reshape to (tokens, heads, size) and a Transpose compute each operand from a tensor (tokens,
    1, heads · size). A Transpose and a Reshape convert the result of the attention back.
    """
    softmax = _producer(product.inputs[0], "Softmax")
    scores = _producer(softmax.inputs[0], "MatMul") if softmax else None
    shape = shape_of(product.outputs[0])
    if softmax is None or scores is None or shape is None or len(shape) != 3:
        return
    if softmax.attributes.get_int("axis", -1) not in (-1, 2):
        return
    q, k, v = (
        _operand(scores.inputs[0], (1, 0, 2)),
        _operand(scores.inputs[1], (1, 2, 0)),
        _operand(product.inputs[1], (1, 0, 2)),
    )
    uses = [use.node for use in product.outputs[0].uses()]
    back = uses[0] if len(uses) == 1 and is_op(uses[0], "Transpose") else None
    if q is None or k is None or v is None or back is None:
        return
    ends = [use.node for use in back.outputs[0].uses()]
    end = ends[0] if len(ends) == 1 and is_op(ends[0], "Reshape") else None
    if end is None or tuple(back.attributes.get_ints("perm", ())) != (1, 0, 2):
        return
    final = shape_of(end.outputs[0])
    if final is None or any(one is back.outputs[0] for one in model.graph.outputs):
        return
    unknown = [size for size in final if not isinstance(size, int)]
    if len(unknown) > 1 or 0 in final:
        return
    name = product.name or f"{product.outputs[0].name}_attention"
    made: list[ir.Node] = []

    def add(op: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        node = ir.node(op, list(inputs), attributes, name=f"{name}/{op}_{len(made)}")
        node.outputs[0].name = f"{node.name}_result"
        made.append(node)
        return node.outputs[0]

    def heads_of(one: _Operand, perm: Sequence[int]) -> ir.Value:
        flat = add("Reshape", one.source, _constant(model, f"{name}_flat", (1, -1, one.width)))
        sizes = _constant(model, f"{name}_heads", (1, -1, one.heads, one.width // one.heads))
        found = add("Transpose", add("Reshape", flat, sizes), perm=list(perm))
        return add(one.scale[0], found, one.scale[1]) if one.scale else found

    product_of_heads = add("MatMul", heads_of(q, (0, 2, 1, 3)), heads_of(k, (0, 2, 3, 1)))
    weights = add("Softmax", product_of_heads, axis=-1)
    mixed = add("Transpose", add("MatMul", weights, heads_of(v, (0, 2, 1, 3))), perm=[0, 2, 1, 3])
    flat = add("Reshape", mixed, _constant(model, f"{name}_joined", (1, -1, v.width)))
    target = [size if isinstance(size, int) else -1 for size in final]
    result = add("Reshape", flat, _constant(model, f"{name}_final", target))
    result.shape, result.type = end.outputs[0].shape, end.outputs[0].type
    ir.convenience.replace_nodes_and_values(
        model.graph, end, [end], made, [end.outputs[0]], [result]
    )
    model.graph.sort()


class _Operand:
    """An operand (q, k or v) of an attention.

    Attributes:
        source: the tensor of (tokens, 1, heads · size).
        heads: number of heads.
        width: heads · size.
        scale: a pair: the type of the operator that scales the operand (``Mul`` or ``Div``), and
            the constant factor or divisor. None if the operand is not scaled.
    """

    def __init__(
        self, source: ir.Value, heads: int, width: int, scale: tuple[str, ir.Value] | None
    ):
        self.source, self.heads, self.width, self.scale = source, heads, width, scale


def _operand(value: ir.Value | None, perm: tuple[int, ...]) -> _Operand | None:
    """Returns the operand that a Reshape, a Transpose by `perm` and an optional scaling compute."""
    scale = None
    node = value.producer() if value is not None else None
    if node is not None and is_op(node, "Mul", "Div"):
        factor = small_constant(node.inputs[1])
        if factor is None or factor.size != 1 or node.inputs[1] is None:
            return None
        scale = (node.op_type, node.inputs[1])
        node = node.inputs[0].producer() if node.inputs[0] is not None else None
    if node is None or not is_op(node, "Transpose"):
        return None
    if tuple(node.attributes.get_ints("perm", ())) != perm or node.inputs[0] is None:
        return None
    view = node.inputs[0].producer()
    if view is None or not is_op(view, "Reshape") or view.inputs[0] is None:
        return None
    flat, apart = shape_of(view.inputs[0]), shape_of(view.outputs[0])
    if flat is None or apart is None or len(flat) != 3 or len(apart) != 3:
        return None
    heads, size, width = apart[1], apart[2], flat[2]
    known = all(isinstance(one, int) and one > 0 for one in (heads, size, width))
    is_view = known and flat[1] == 1 and flat[0] == apart[0] and heads * size == width
    return _Operand(view.inputs[0], heads, width, scale) if is_view else None
