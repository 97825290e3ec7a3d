"""Counts bytes, FLOPs and launches of an operator or fused kernel.

There is one rule for each family of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from types import MappingProxyType

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Work
from ms_fusion.ops import operator_info
from ms_fusion.ops.op_info import Trait, WorkRule


def has_rule(op: str) -> bool:
    """Returns whether `work_of` has a rule for the operator.

    Without a rule, `work_of` returns an estimate.
    """
    return operator_info(op).work is not WorkRule.UNKNOWN


def is_matrix_product(op: str) -> bool:
    """Returns whether the operator runs on the device's matrix unit."""
    return Trait.MATRIX_UNIT in operator_info(op).traits


def work_of(node: Node, graph: Graph) -> Work:
    """Returns the work of running the node once.

    A fused kernel reads each distinct input once, writes its outputs once, and has the FLOPs of all
    its operators. An operator without a rule (`has_rule`) is assumed to read its inputs, to write
    its outputs, and to have one FLOP per output element.
    """
    if node.body is not None:
        return _fused_kernel_work(node, node.body, graph)
    return _RULES[operator_info(node.op).work](node, graph)


def _flops(node: Node) -> int:
    """Returns the FLOPs per element of the tensor that the operator's `WorkRule` names."""
    return operator_info(node.op).flops or 0


def _bytes(values: Iterable[Value]) -> int:
    """Returns the total bytes of the values, except for values of one element."""
    return sum(value.bytes for value in values if value.elements > 1)


def _distinct_inputs(node: Node, graph: Graph) -> tuple[Value, ...]:
    return tuple(graph.values[name] for name in dict.fromkeys(node.inputs))


def _out_elements(node: Node, graph: Graph) -> int:
    return sum(value.elements for value in graph.outputs_of(node))


def _bytes_written(node: Node, graph: Graph) -> int:
    return sum(value.bytes for value in graph.outputs_of(node))


def _read_write_work(node: Node, graph: Graph, flops: int) -> Work:
    return Work(flops, _bytes(_distinct_inputs(node, graph)), _bytes_written(node, graph), 1)


def _elementwise_work(node: Node, graph: Graph) -> Work:
    return _read_write_work(node, graph, _flops(node) * _out_elements(node, graph))


def _add_n_work(node: Node, graph: Graph) -> Work:
    return _read_write_work(node, graph, (len(node.inputs) - 1) * _out_elements(node, graph))


def _assign_work(node: Node, graph: Graph) -> Work:
    """Returns the work of an Assign, AssignAdd or AssignSub.

    These operators overwrite their first input. Assign does not read its first input.
    """
    target, *rest = graph.inputs_of(node)
    read = rest if node.op == "Assign" else (target, *rest)
    return Work(_flops(node) * target.elements, _bytes(read), target.bytes, 1)


def _first_input_work(node: Node, graph: Graph) -> Work:
    """Returns the work of a Transpose, BroadcastTo or Tile, which reads only its first input."""
    return Work(0, _bytes(graph.inputs_of(node)[:1]), _bytes_written(node, graph), 1)


def _reduction_work(node: Node, graph: Graph) -> Work:
    source = graph.inputs_of(node)[0]
    flops = source.elements + _flops(node) * _out_elements(node, graph)
    return Work(flops, _bytes((source,)), _bytes_written(node, graph), 1)


def _normalisation_work(node: Node, graph: Graph) -> Work:
    return _read_write_work(node, graph, _flops(node) * graph.inputs_of(node)[0].elements)


def _matmul_work(node: Node, graph: Graph) -> Work:
    """Returns the work of a product of m × k and k × n matrices, with 2 m n k FLOPs."""
    left, right = graph.inputs_of(node)[:2]
    out = graph.outputs_of(node)[0]
    if len(left.shape) >= 2 and len(out.shape) >= 2 and len(right.shape) >= 2:
        transposed = _flag(node, graph, "transpose_a" if node.op != "Dense" else "", 2)
        inner = _size(left.shape[-2] if transposed else left.shape[-1])
    else:
        inner = _size(left.shape[-1]) if left.shape else 1
    bias = [value for value in graph.inputs_of(node)[2:] if value.elements > 1]
    flops = (2 * inner + bool(bias)) * out.elements
    return Work(flops, _bytes(_distinct_inputs(node, graph)), _bytes_written(node, graph), 1)


def _flag(node: Node, graph: Graph, name: str, position: int) -> bool:
    """Returns a flag of an operator, or False if the operator does not have the flag.

    In graphs of older MindSpore versions, the flag is the attribute `name`. In graphs of newer
    versions, the flag is the input at index `position`.
    """
    if not name:
        return False
    found = node.attr(name)
    if found is None and position < len(node.inputs):
        found = graph.values[node.inputs[position]].data
    return found is True


def _conv2d_work(node: Node, graph: Graph) -> Work:
    """Returns the work of a convolution.

    Each output element takes 2 FLOPs for each weight of its output channel. Axis 0 of the filter
    (the weights) is the axis of the output channels.
    """
    weight = graph.inputs_of(node)[1]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _convolution_work(node, graph, 2 * graph.outputs_of(node)[0].elements * per_output)


def _conv2d_backprop_input_work(node: Node, graph: Graph) -> Work:
    """Returns the work of the operator that computes the gradient of a convolution's input.

    The operator has as many FLOPs as the forward convolution. Its inputs are the gradient of the
    output, the filter, and a shape or bias.
    """
    gradient, weight = graph.inputs_of(node)[:2]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _convolution_work(node, graph, 2 * gradient.elements * per_output)


def _conv2d_backprop_filter_work(node: Node, graph: Graph) -> Work:
    """Returns the work of the operator that computes the gradient of a convolution's filter.

    The operator has as many FLOPs as the forward convolution. Its inputs are the gradient of the
    convolution's output, the convolution's input, and a shape.
    """
    gradient, weight = graph.inputs_of(node)[0], graph.outputs_of(node)[0]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _convolution_work(node, graph, 2 * gradient.elements * per_output)


def _convolution_work(node: Node, graph: Graph, flops: int) -> Work:
    operands = [value for value in _distinct_inputs(node, graph) if not _is_argument(value)]
    bias = operands[2:] if node.op in ("Conv2D", "Conv2DTranspose") else []
    extra = graph.outputs_of(node)[0].elements if _bytes(bias) else 0
    return Work(flops + extra, _bytes(operands), _bytes_written(node, graph), 1)


def _is_argument(value: Value) -> bool:
    """Returns whether a value is a small integer constant, such as a shape, axes or paddings."""
    return value.kind == "constant" and (len(value.shape) <= 1 and "float" not in value.dtype)


def _pooling_work(node: Node, graph: Graph) -> Work:
    """Returns the work of a pooling: each output element takes one FLOP per element of the window.

    For the gradient of a pooling, the output elements are those of the forward pooling.
    """
    window = node.attr("kernel_size") or node.attr("kernel_shape") or 1  # in MindSpore, in ONNX
    size = prod(window) if isinstance(window, tuple | list) else int(window) ** 2
    pooled = (
        graph.outputs_of(node)[0] if not node.op.endswith("Grad") else graph.inputs_of(node)[-1]
    )
    operands = [value for value in _distinct_inputs(node, graph) if not _is_argument(value)]
    return Work(size * pooled.elements, _bytes(operands), _bytes_written(node, graph), 1)


def _optimizer_work(node: Node, graph: Graph) -> Work:
    """Returns the work of an optimizer.

    The operator reads each of its tensors, and writes the tensors that it overwrites: the weight
    and the moments.
    """
    inputs, positions = graph.inputs_of(node), operator_info(node.op).overwrites
    written = sum(inputs[position].bytes for position in positions if position < len(inputs))
    return Work(
        _flops(node) * inputs[0].elements, _bytes(_distinct_inputs(node, graph)), written, 1
    )


def _gather_work(node: Node, graph: Graph) -> Work:
    """Returns the work of a Gather, which reads the indices and the selected rows of the table."""
    indices = [value for value in graph.inputs_of(node)[1:] if value.elements > 1]
    written = _bytes_written(node, graph)
    return Work(0, written + _bytes(indices), written, 1)


def _slice_work(node: Node, graph: Graph) -> Work:
    """Returns the work of a Slice or StridedSlice, which reads only the selected elements."""
    written = _bytes_written(node, graph)
    return Work(0, written, written, 1)


def _data_movement_work(node: Node, graph: Graph) -> Work:
    """Returns the work of a Concat, Split, Stack, Pad …, which moves bytes without arithmetic."""
    operands = [value for value in _distinct_inputs(node, graph) if not _is_argument(value)]
    return Work(0, _bytes(operands), _bytes_written(node, graph), 1)


def _fused_kernel_work(node: Node, body: Graph, graph: Graph) -> Work:
    flops = sum(work_of(inner, body).flops for inner in body.nodes)
    return Work(flops, *_fused_kernel_bytes(node, body, graph), 1)


def fused_bytes(body: Graph) -> int:
    """Returns the bytes moved by one kernel that computes a whole graph."""
    return sum(
        _fused_kernel_bytes(
            Node(body.name, "Part", body.inputs, body.outputs, body=body), body, body
        )
    )


def _fused_kernel_bytes(node: Node, body: Graph, graph: Graph) -> tuple[int, int]:
    """Returns the bytes that a fused kernel reads, and the bytes that it writes."""
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


_RULES: Mapping[WorkRule, Callable[[Node, Graph], Work]] = MappingProxyType(
    {
        WorkRule.UNKNOWN: lambda node, graph: _read_write_work(
            node, graph, _out_elements(node, graph)
        ),
        WorkRule.NONE: lambda node, graph: Work(),
        WorkRule.ELEMENTWISE: _elementwise_work,
        WorkRule.SUM: _add_n_work,
        WorkRule.ASSIGN: _assign_work,
        WorkRule.FIRST_INPUT: _first_input_work,
        WorkRule.REDUCTION: _reduction_work,
        WorkRule.PER_INPUT_ELEMENT: _normalisation_work,
        WorkRule.MATRIX_PRODUCT: _matmul_work,
        WorkRule.CONVOLUTION: _conv2d_work,
        WorkRule.CONVOLUTION_INPUT_GRADIENT: _conv2d_backprop_input_work,
        WorkRule.CONVOLUTION_WEIGHT_GRADIENT: _conv2d_backprop_filter_work,
        WorkRule.POOLING: _pooling_work,
        WorkRule.OPTIMIZER: _optimizer_work,
        WorkRule.GATHER: _gather_work,
        WorkRule.FILL: lambda node, graph: Work(0, 0, _bytes_written(node, graph), 1),
        WorkRule.SLICE: _slice_work,
        WorkRule.DATA_MOVEMENT: _data_movement_work,
    }
)
