"""Finds groups with equal graphs; such groups share one built and verified kernel."""

from __future__ import annotations

from dataclasses import replace

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.kernels.group_kernel import GroupKernel


def signature(body: Graph) -> str:
    """Returns a string that is equal for groups that compute the same function of their inputs.

    The string contains the operators with their attributes, the constants, shapes and dtypes, and
    the data flow. The string contains no names of nodes, values or unknown sizes. Weights are
    inputs of a group. Therefore the string does not contain the elements of weights.
    """
    sizes: dict[str, str] = {}
    place = {name: number for number, name in enumerate(body.values)}

    def describe_value(value: Value) -> object:
        shape = tuple(
            sizes.setdefault(size, f"n{len(sizes)}") if isinstance(size, str) else size
            for size in value.shape
        )
        return value.dtype, shape, value.kind, value.data

    def describe_node(node: Node) -> object:
        # A constant that is too large to list is not compared. The node's name then makes the
        # string unique.
        hidden = any(isinstance(item, str) and item.startswith("<") for _, item in node.attrs)
        ends = tuple(place.get(name) for name in (*node.inputs, *node.outputs))
        return node.op, node.attrs, len(node.inputs), ends, node.name if hidden else ""

    values = tuple(map(describe_value, body.values.values()))
    results = tuple(place[name] for name in (*body.inputs, *body.outputs))
    return repr((values, tuple(map(describe_node, body.nodes)), results))


def retarget_kernel(kernel: GroupKernel, node: Node) -> GroupKernel:
    """Transfers the kernel of a group to `node`, a group with the same `signature`."""
    first, body = kernel.node.fused_body, node.fused_body
    values = dict(zip(first.values, body.values, strict=True))
    sizes = {
        size: own
        for name in first.values
        for size, own in zip(first.values[name].shape, body.values[values[name]].shape, strict=True)
    }
    nodes = {one.name: other for one, other in zip(first.nodes, body.nodes, strict=True)}
    said = replace(
        kernel.said,
        sizes={str(sizes[size]): variable for size, variable in kernel.said.sizes.items()},
        values={key: values[name] for key, name in kernel.said.values.items()},
        stages={key: nodes[one.name] for key, one in kernel.said.stages.items()},
    )
    return replace(kernel, node=node, said=said)
