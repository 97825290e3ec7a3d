"""Groups with equal graphs: one kernel, built and verified once, serves all of them."""

from __future__ import annotations

from dataclasses import replace

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx_fusion.kernels import GroupKernel


def signature(body: Graph) -> str:
    """A text that two groups share if they compute the same of what they are given.

    It holds operators with their attributes, constants, shapes and dtypes, and which value goes where; no name of a node, a
    value or an unknown size. Weights are arguments.
    """
    sizes: dict[str, str] = {}
    place = {name: number for number, name in enumerate(body.values)}

    def told(value: Value) -> object:
        shape = tuple(
            sizes.setdefault(size, f"n{len(sizes)}") if isinstance(size, str) else size
            for size in value.shape
        )
        return value.dtype, shape, value.kind, value.data

    def called(node: Node) -> object:
        # what is too large to be listed may be different
        hidden = any(isinstance(item, str) and item.startswith("<") for _, item in node.attrs)
        ends = tuple(place.get(name) for name in (*node.inputs, *node.outputs))
        return node.op, node.attrs, len(node.inputs), ends, node.name if hidden else ""

    values = tuple(map(told, body.values.values()))
    results = tuple(place[name] for name in (*body.inputs, *body.outputs))
    return repr((values, tuple(map(called, body.nodes)), results))


def for_another(kernel: GroupKernel, node: Node) -> GroupKernel:
    """The kernel of a group as that of another one with the same `signature`."""
    first, body = kernel.node.body, node.body
    assert first is not None
    assert body is not None
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
