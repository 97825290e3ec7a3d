"""A fused group as an operator of `custom_ops`: its kernel, and the gradient that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from custom_ops.core.kernel_chain import Chain
from custom_ops.core.kernel_interface import Described
from custom_ops.core.operator_spec import OpSpec
from ms_fusion.cost import is_matrix_product
from ms_fusion.formats.onnx_graph import ONNX_OP, UNKNOWN_RANK, assumed
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx_fusion.kernel_sequence import assembled
from ms_fusion.onnx_fusion.kernels import build, for_shapes, outputs_of, read_inputs
from ms_fusion.onnx_fusion.python_names import identifier
from tbe_impl.dsl.dtypes import DTYPES
from tbe_impl.errors import FusionError
from tbe_impl.kernel import Kernel

WITHOUT_GRADIENT = frozenset({"Conv", "ConvTranspose", "MaxPool", "AveragePool"})
"""Operators whose gradient is not derived here; groups with one are MindSpore's own operators in training."""


def is_differentiable(group: Node) -> bool:
    """Whether its gradient is a kernel of ours, too."""
    assert group.body is not None
    return not any(node.attr(ONNX_OP) in WITHOUT_GRADIENT for node in group.body.nodes)


def spec_of(group: Node) -> OpSpec:
    """The operator of a group; its inputs are those whose numbers are read, in the group's order."""
    body = group.body
    assert body is not None
    read = read_inputs(body)
    places = {name: f"x{number}" for number, name in enumerate(read)}

    def forward(*tensors: Any) -> Any:
        known: Mapping[str, Any] = dict(zip(read, tensors, strict=True))
        return outputs_of(body, known)

    floats = {name for name in read if body.values[name].dtype.startswith(("float", "bfloat"))}
    fixed = set(read) - floats if is_differentiable(group) else set(read)
    in_a_row = _has_product(body) and _is_known(body)
    return OpSpec(
        identifier(group.op),
        tuple(places.values()),
        tuple(f"y{number}" for number in range(len(body.outputs))),
        forward=None if in_a_row else forward,
        derived_from=forward if in_a_row else None,
        written=(lambda *given: _row(group, read, given)) if in_a_row else None,
        undifferentiable=frozenset(places[name] for name in fixed),
        dtypes=tuple(DTYPES),
        place=group.name,
        made_by="auto_fuse",
        made_of=tuple(node.op for node in body.nodes),
        doc=f"{len(body.nodes)} operators of an ONNX model as one kernel.",
    )


def _has_product(body: Graph) -> bool:
    """Whether a library multiplies or convolves in it."""
    return any(is_matrix_product(node.op) for node in body.nodes)


def _is_known(body: Graph) -> bool:
    """Whether the sizes of its inputs say all others."""
    said = {size for name in read_inputs(body) for size in body.values[name].shape}
    return all(
        size in said or (isinstance(size, int) and size >= 0)
        for value in body.values.values()
        for size in value.shape
    ) and not said & {-1, *UNKNOWN_RANK}


def _row(group: Node, read: tuple[str, ...], given: tuple[Described, ...]) -> Chain | Kernel:
    """The library's products and kernels of ours behind each other for these inputs, where it can be built so; else one kernel."""
    assert group.body is not None
    alone = for_shapes(group, {name: one.shape for name, one in zip(read, given, strict=True)})
    if alone is not None:
        return alone
    sizes = {
        size: own
        for name, one in zip(read, given, strict=True)
        for size, own in zip(group.body.values[name].shape, one.shape, strict=True)
        if isinstance(size, str)
    }
    node = replace(group, inputs=read, body=replace(group.body, inputs=read))
    try:
        return assembled(node, sizes)
    except FusionError:
        assert node.body is not None
        return build(replace(node, body=assumed(node.body, sizes))).kernel
