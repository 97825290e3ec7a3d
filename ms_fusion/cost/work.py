"""The work of one operator or fused kernel: bytes, FLOPs and launches; one rule for each operator family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from types import MappingProxyType

from ms_fusion.cost.arithmetic import (
    CONTROL,
    FLOPS_PER_ELEMENT,
    OPTIMISERS,
    PER_INPUT_ELEMENT,
    REDUCED,
)
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Work
from ms_fusion.operators import BOOKKEEPING, VIEWS


def has_rule(op: str) -> bool:
    """Whether `work_of` knows the operator; if not, its figures are a guess and a report should say so."""
    return op in _RULES


def is_matrix_product(op: str) -> bool:
    """Whether the device's matrix unit does it."""
    return op in _MATRIX


def work_of(node: Node, graph: Graph) -> Work:
    """What running the node once costs.

    A fused kernel reads each distinct input once and writes its outputs once, with the FLOPs of all its operators.
    An operator without a rule reads its inputs, writes its outputs and does one FLOP per output element (`has_rule`).
    """
    if node.body is not None:
        return _fused(node, node.body, graph)
    rule = _RULES.get(node.op, _unknown)
    return rule(node, graph)


Rule = Callable[[Node, Graph], Work]


def _bytes(values: Iterable[Value]) -> int:
    """Bytes of the tensors among the values; a single element costs nothing."""
    return sum(value.bytes for value in values if value.elements > 1)


def _distinct(node: Node, graph: Graph) -> tuple[Value, ...]:
    return tuple(graph.values[name] for name in dict.fromkeys(node.inputs))


def _out_elements(node: Node, graph: Graph) -> int:
    return sum(value.elements for value in graph.outputs_of(node))


def _written(node: Node, graph: Graph) -> int:
    return sum(value.bytes for value in graph.outputs_of(node))


def _nothing(node: Node, graph: Graph) -> Work:
    return Work()


def _plain(node: Node, graph: Graph, flops: int) -> Work:
    return Work(flops, _bytes(_distinct(node, graph)), _written(node, graph), 1)


def _unknown(node: Node, graph: Graph) -> Work:
    return _plain(node, graph, _out_elements(node, graph))


def _elementwise(node: Node, graph: Graph) -> Work:
    return _plain(node, graph, FLOPS_PER_ELEMENT[node.op] * _out_elements(node, graph))


def _add_n(node: Node, graph: Graph) -> Work:
    return _plain(node, graph, (len(node.inputs) - 1) * _out_elements(node, graph))


def _assign(node: Node, graph: Graph) -> Work:
    """Assign, AssignAdd, AssignSub: they overwrite their first input; Assign does not read it."""
    target, *rest = graph.inputs_of(node)
    read = rest if node.op == "Assign" else (target, *rest)
    return Work(FLOPS_PER_ELEMENT[node.op] * target.elements, _bytes(read), target.bytes, 1)


def _first_only(node: Node, graph: Graph) -> Work:
    """Transpose, BroadcastTo, Tile: the tensor, not the shape or axes beside it."""
    return Work(0, _bytes(graph.inputs_of(node)[:1]), _written(node, graph), 1)


def _reduce(node: Node, graph: Graph) -> Work:
    source = graph.inputs_of(node)[0]
    flops = source.elements + REDUCED[node.op] * _out_elements(node, graph)
    return Work(flops, _bytes((source,)), _written(node, graph), 1)


def _norm(node: Node, graph: Graph) -> Work:
    per_element = PER_INPUT_ELEMENT[node.op]
    return _plain(node, graph, per_element * graph.inputs_of(node)[0].elements)


def _matmul(node: Node, graph: Graph) -> Work:
    """2 m n k FLOPs: k is what is left of one matrix of the left operand after the output's rows, transposed or not."""
    left, right = graph.inputs_of(node)[:2]
    out = graph.outputs_of(node)[0]
    if len(left.shape) >= 2 and len(out.shape) >= 2 and len(right.shape) >= 2:
        transposed = _flag(node, graph, "transpose_a" if node.op != "Dense" else "", 2)
        inner = _size(left.shape[-2] if transposed else left.shape[-1])
    else:
        inner = _size(left.shape[-1]) if left.shape else 1
    bias = [value for value in graph.inputs_of(node)[2:] if value.elements > 1]
    flops = (2 * inner + bool(bias)) * out.elements
    return Work(flops, _bytes(_distinct(node, graph)), _written(node, graph), 1)


def _flag(node: Node, graph: Graph, name: str, position: int) -> bool:
    """A boolean that newer files hold as an input at `position`, older ones as the attribute `name`."""
    if not name:
        return False
    found = node.attr(name)
    if found is None and position < len(node.inputs):
        found = graph.values[node.inputs[position]].data
    return found is True


def _conv2d(node: Node, graph: Graph) -> Work:
    """2 FLOPs for each output element and each weight that reaches it; the filter's first size is the output channels."""
    weight = graph.inputs_of(node)[1]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _conv(node, graph, 2 * graph.outputs_of(node)[0].elements * per_output)


def _conv2d_backprop_input(node: Node, graph: Graph) -> Work:
    """(gradient, filter, shape or bias): as many FLOPs as the convolution that it is the gradient of."""
    gradient, weight = graph.inputs_of(node)[:2]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _conv(node, graph, 2 * gradient.elements * per_output)


def _conv2d_backprop_filter(node: Node, graph: Graph) -> Work:
    """(gradient, input, shape) → gradient of the filter."""
    gradient, weight = graph.inputs_of(node)[0], graph.outputs_of(node)[0]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _conv(node, graph, 2 * gradient.elements * per_output)


def _conv(node: Node, graph: Graph, flops: int) -> Work:
    operands = [value for value in _distinct(node, graph) if not _is_argument(value)]
    bias = operands[2:] if node.op in ("Conv2D", "Conv2DTranspose") else []
    extra = graph.outputs_of(node)[0].elements if _bytes(bias) else 0
    return Work(flops + extra, _bytes(operands), _written(node, graph), 1)


def _is_argument(value: Value) -> bool:
    """Shapes, axes and paddings: small constants of integers."""
    return value.kind == "constant" and (len(value.shape) <= 1 and "float" not in value.dtype)


def _pool(node: Node, graph: Graph) -> Work:
    """One FLOP for each element under the window of each output; for a gradient, of each output of the pooling."""
    window = node.attr("kernel_size") or node.attr("kernel_shape") or 1  # MindSpore's, ONNX's
    size = prod(window) if isinstance(window, tuple | list) else int(window) ** 2
    pooled = (
        graph.outputs_of(node)[0] if not node.op.endswith("Grad") else graph.inputs_of(node)[-1]
    )
    operands = [value for value in _distinct(node, graph) if not _is_argument(value)]
    return Work(size * pooled.elements, _bytes(operands), _written(node, graph), 1)


def _optimiser(node: Node, graph: Graph) -> Work:
    """Reads its tensors once; overwrites the weight and the moments."""
    positions, per_element = OPTIMISERS[node.op]
    inputs = graph.inputs_of(node)
    written = sum(inputs[position].bytes for position in positions if position < len(inputs))
    return Work(per_element * inputs[0].elements, _bytes(_distinct(node, graph)), written, 1)


def _gather(node: Node, graph: Graph) -> Work:
    """Reads the indices and only the rows that it takes."""
    indices = [value for value in graph.inputs_of(node)[1:] if value.elements > 1]
    written = _written(node, graph)
    return Work(0, written + _bytes(indices), written, 1)


def _fill(node: Node, graph: Graph) -> Work:
    """OnesLike, ZerosLike, Fill: they need a shape, not the values."""
    return Work(0, 0, _written(node, graph), 1)


def _slice(node: Node, graph: Graph) -> Work:
    """Slice, StridedSlice: reads only what it keeps."""
    written = _written(node, graph)
    return Work(0, written, written, 1)


def _move(node: Node, graph: Graph) -> Work:
    """Concat, Split, Stack, Pad …: bytes without arithmetic."""
    operands = [value for value in _distinct(node, graph) if not _is_argument(value)]
    return Work(0, _bytes(operands), _written(node, graph), 1)


def _fused(node: Node, body: Graph, graph: Graph) -> Work:
    flops = sum(work_of(inner, body).flops for inner in body.nodes)
    return Work(flops, *_moved(node, body, graph), 1)


def bytes_as_one(body: Graph) -> int:
    """Bytes that a kernel moves which computes a whole graph."""
    return sum(_moved(Node(body.name, "Part", body.inputs, body.outputs, body=body), body, body))


def _moved(node: Node, body: Graph, graph: Graph) -> tuple[int, int]:
    """Bytes that a fused kernel reads, and those that it writes."""
    outer = dict(zip(body.inputs, node.inputs, strict=False))
    read: dict[str, None] = {}
    overwritten: dict[str, str] = {}
    for inner in body.nodes:
        in_place = inner.op.startswith("Assign")
        for position, name in enumerate(inner.inputs):
            if name in outer and not (inner.op == "Assign" and position == 0):
                read[outer[name]] = None
        if in_place:
            overwritten.update(dict.fromkeys(inner.outputs, inner.inputs[0]))
    written = 0
    targets: set[str] = set()
    for inside, outside in zip(body.outputs, node.outputs, strict=False):
        if inside not in overwritten:
            written += graph.values[outside].bytes
    for target in overwritten.values():
        if target not in targets:
            targets.add(target)
            written += body.values[target].bytes
    return _bytes(graph.values[name] for name in read), written


def _size(size: int | str) -> int:
    return size if isinstance(size, int) and size >= 0 else 1


_MATRIX = frozenset(
    """MatMul BatchMatMul MatMulExt BatchMatMulExt GroupedMatmul Dense Conv2D Conv2DBackpropInput Conv2DBackpropFilter
    Conv2DTranspose Conv3D DepthwiseConv2dNative""".split()
)

_RULES: Mapping[str, Rule] = MappingProxyType(
    dict.fromkeys((*BOOKKEEPING, *VIEWS, *CONTROL), _nothing)
    | dict.fromkeys(FLOPS_PER_ELEMENT, _elementwise)
    | dict.fromkeys(("Assign", "AssignAdd", "AssignSub"), _assign)
    | dict.fromkeys(("Transpose", "BroadcastTo", "Tile", "TransposeView"), _first_only)
    | dict.fromkeys(REDUCED, _reduce)
    | dict.fromkeys(PER_INPUT_ELEMENT, _norm)
    | dict.fromkeys(("MatMul", "BatchMatMul", "MatMulExt", "BatchMatMulExt", "Dense"), _matmul)
    | dict.fromkeys(("MaxPool", "AvgPool", "MaxPoolGrad", "AvgPoolGrad"), _pool)
    | dict.fromkeys(OPTIMISERS, _optimiser)
    | dict.fromkeys(("Gather", "GatherV2", "EmbeddingLookup", "GatherNd", "GatherD"), _gather)
    | dict.fromkeys(("Slice", "StridedSlice"), _slice)
    | dict.fromkeys(("OnesLike", "ZerosLike", "Fill", "FillV2"), _fill)
    | dict.fromkeys(
        (
            "Concat",
            "Split",
            "Stack",
            "Unstack",
            "Pack",
            "Unpack",
            "Pad",
            "PadV3",
            "StridedSliceGrad",
        ),
        _move,
    )
    | {
        "AddN": _add_n,
        "Conv2D": _conv2d,
        "Conv2DBackpropInput": _conv2d_backprop_input,
        "Conv2DTranspose": _conv2d_backprop_input,
        "Conv2DBackpropFilter": _conv2d_backprop_filter,
    }
)
"""Operator → rule; the later line wins where two families name an operator."""
