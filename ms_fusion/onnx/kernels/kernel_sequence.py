"""Builds a group with static sizes as a kernel sequence: oneDNN calls and generated kernels.

oneDNN fuses a bias, a residual sum and relu into a product. Other operators become generated
kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from custom_ops.core.kernel_chain import Chain, CompiledStep, make_step
from custom_ops.core.kernel_interface import ArraySpec
from ms_fusion.cost import VIEWS, is_matrix_product
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.lowering.group_partition import extract_region, partition_group
from ms_fusion.lowering.onednn.onednn_steps import LIBRARY, LibraryCall
from ms_fusion.onnx.kernels.group_kernel import build
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.ops.call import Call
from ms_fusion.ops.onnx_windows import convolution
from ms_fusion.readers.onnx_graph import ABSENT_INPUT, substitute_sizes
from tbe_impl.errors import InputError

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


def build_sequence(node: Node, sizes: Mapping[str, int], *, apart: bool = False) -> Chain:
    """Builds the kernel sequence of a fused operator.

    Args:
        node: the fused operator, which has a body.
        sizes: values of dynamic sizes.
        apart: whether to build each operator separately, as without fusion. Operators that only
            change a shape then get no kernel.

    Raises:
        InputError: an operator, a dtype or a size cannot be lowered. The error names the operator
            or the value.
    """
    for value in node.fused_body.values.values():
        if any(isinstance(size, str) and size not in sizes for size in value.shape):
            raise InputError("a size that is not known", place=value.name)
    body = rewrite_for_library(substitute_sizes(node.fused_body, sizes))
    steps, same = [], dict[str, str]()
    for graph in _single_operator_graphs(body, same) if apart else (body,):
        for step in _build_steps(graph):
            reads = tuple(same.get(name, name) for name in step.reads)
            steps.append(make_step(step.kernel, reads, step.writes))
    given = {name: _describe_value(body.values[name]) for name in body.inputs}
    wanted = {name: _describe_value(body.values[name]) for name in body.outputs}
    return Chain(node.name, given, wanted, tuple(steps))


def kernel_graphs(body: Graph) -> tuple[Graph, ...]:
    """Returns the graph of each kernel in the kernel sequence of a group."""
    found = rewrite_for_library(body)
    made = []
    for step in partition_group(found).steps:
        part = step.kernel
        names = (
            part.covered if isinstance(part, LibraryCall) else [node.name for node in part.nodes]
        )
        node = fused_node(found, sorted(names, key=[one.name for one in found].index), "Part")
        made.append(node.fused_body)
    return tuple(made)


def _single_operator_graphs(body: Graph, same: dict[str, str]) -> Iterator[Graph]:
    """Yields a graph for each operator, except for views.

    A view is an operator that only changes the shape and whose result is not an output of the
    group. For each view, the function adds an entry to `same`. This dict maps the name of the
    view's result to the name of the value with the same elements.
    """
    for node in body.nodes:
        if node.op in VIEWS and node.outputs[0] not in body.outputs:
            same[node.outputs[0]] = same.get(node.inputs[0], node.inputs[0])
            continue
        one = fused_node(body, (node.name,), node.op)
        yield one.fused_body


def _build_steps(graph: Graph) -> Iterator[CompiledStep]:
    for step in partition_group(graph).steps:
        part = step.kernel
        if isinstance(part, LibraryCall):
            yield make_step(part.call.prepare(), step.reads, step.writes)
            continue
        own = extract_region(step, graph)
        kernel = build(Node(part.nodes[-1].name, graph.name, own.inputs, own.outputs, body=own))
        yield make_step(kernel.kernel, own.inputs, own.outputs)


def rewrite_for_library(body: Graph) -> Graph:
    """Rewrites products and convolutions to the form that the oneDNN lowering expects."""
    values = dict(body.values)
    nodes: list[Node] = []
    for node in body.nodes:
        nodes += _rewrite_product(node, values) if is_matrix_product(node.op) else [node]
    return Graph(body.name, tuple(nodes), values, body.inputs, body.outputs)


def _rewrite_product(node: Node, values: dict[str, Value]) -> list[Node]:
    """Returns a product in the form that the oneDNN lowering expects.

    A product that oneDNN does not support gets another operator type, for which a kernel is
    generated.
    """
    left, right = (values[name] for name in node.inputs[:2])
    rest = [name for name in node.inputs[2:] if name != ABSENT_INPUT]
    held = any(name != ABSENT_INPUT and values[name].kind == "constant" for name in node.inputs)
    known = node.op in LIBRARY and left.dtype in FLOATS and left.dtype == right.dtype and not held
    if node.op == "Conv2D":
        call = Call(node, (left, right), values[node.outputs[0]], np.dtype(np.float32))
        try:
            own = convolution(call).node if known and len(left.shape) == 4 else None
        except InputError:
            own = None
        if own is None:
            return [replace(node, op="Conv")]
        return [replace(own, inputs=(*node.inputs[:2], *rest))]
    scaled = node.attr("alpha", 1.0) != 1.0 or node.attr("beta", 1.0) != 1.0
    if not known or scaled or min(len(left.shape), len(right.shape)) < 2:
        return [replace(node, op="Product")]
    result = values[node.outputs[0]]
    if rest and values[rest[0]].shape == result.shape:
        inner = replace(result, name=f"{result.name}, before it is added to", kind="result")
        values[inner.name] = inner
        total = Node(f"{node.name}, added", "Add", (inner.name, rest[0]), node.outputs)
        return [replace(node, inputs=node.inputs[:2], outputs=(inner.name,)), total]
    if rest and values[rest[0]].shape != result.shape[-1:]:
        return [replace(node, op="Product")]
    return [replace(node, inputs=(*node.inputs[:2], *rest))]


def _describe_value(value: Value) -> ArraySpec:
    if any(not isinstance(size, int) or size < 0 for size in value.shape):
        raise InputError("a size that is not known", place=value.name)
    return ArraySpec(tuple(int(size) for size in value.shape), value.dtype)
