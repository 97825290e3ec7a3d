"""Turns a fused group into an operator of `custom_ops` that has a kernel and a gradient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from custom_ops.core.kernel_chain import Chain
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import OpSpec
from ms_fusion.cost import is_matrix_product
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.kernels.group_kernel import (
    build,
    build_for_shapes,
    inputs_with_data,
    outputs_of,
)
from ms_fusion.onnx.kernels.kernel_sequence import build_sequence
from ms_fusion.ops import operator_info
from ms_fusion.ops.op_info import WorkRule
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK, substitute_sizes
from tbe_impl.cann.python_names import identifier
from tbe_impl.dsl.dtypes import DTYPES
from tbe_impl.errors import FusionError
from tbe_impl.kernel import Kernel

WITHOUT_GRADIENT = frozenset(
    {WorkRule.CONVOLUTION, WorkRule.CONVOLUTION_INPUT_GRADIENT, WorkRule.POOLING}
)
"""Kinds of operators without a derived gradient.

In training, a group with such an operator runs as MindSpore's operators.
"""


def is_differentiable(group: Node) -> bool:
    """Returns whether a gradient of the group can be derived."""
    return not any(
        operator_info(node.op).work in WITHOUT_GRADIENT for node in group.fused_body.nodes
    )


def spec_of(group: Node) -> OpSpec:
    """Builds the operator of `custom_ops` that computes a fused group.

    The operator has the group's inputs in the group's order. If the group reads only the shape of
    an input, the operator does not have this input.
    """
    body = group.fused_body
    read = inputs_with_data(body)
    places = {name: f"x{number}" for number, name in enumerate(read)}

    def forward(*tensors: Any) -> Any:
        known: Mapping[str, Any] = dict(zip(read, tensors, strict=True))
        return outputs_of(body, known)

    floats = {name for name in read if body.values[name].dtype.startswith(("float", "bfloat"))}
    fixed = set(read) - floats if is_differentiable(group) else set(read)
    in_a_row = _has_product(body) and _has_known_sizes(body)
    return OpSpec(
        identifier(group.op),
        tuple(places.values()),
        tuple(f"y{number}" for number in range(len(body.outputs))),
        forward=None if in_a_row else forward,
        derived_from=forward if in_a_row else None,
        kernel_builder=(lambda *given: _build_kernels(group, read, given)) if in_a_row else None,
        undifferentiable=frozenset(places[name] for name in fixed),
        dtypes=tuple(DTYPES),
        place=group.name,
        made_by="auto_fuse",
        made_of=tuple(node.op for node in body.nodes),
        doc=f"{len(body.nodes)} operators of an ONNX model as one kernel.",
    )


def _has_product(body: Graph) -> bool:
    """Returns whether the group contains a matrix product or a convolution."""
    return any(is_matrix_product(node.op) for node in body.nodes)


def _has_known_sizes(body: Graph) -> bool:
    """Returns whether each size in the group is static or occurs in the shape of an input."""
    said = {size for name in inputs_with_data(body) for size in body.values[name].shape}
    return all(
        size in said or (isinstance(size, int) and size >= 0)
        for value in body.values.values()
        for size in value.shape
    ) and not said & {-1, *UNKNOWN_RANK}


def _build_kernels(
    group: Node, read: tuple[str, ...], given: tuple[ArraySpec, ...]
) -> Chain | Kernel:
    """Builds the kernels of a group for inputs with the shapes in `given`.

    The result is normally a sequence of library calls and generated kernels. If this sequence
    cannot be built, the result is a single generated kernel. The result is also a single generated
    kernel if two axes have the same symbolic size in the model, but different sizes in `given`.
    """
    alone = build_for_shapes(
        group, {name: one.shape for name, one in zip(read, given, strict=True)}
    )
    if alone is not None:
        return alone
    sizes = {
        size: own
        for name, one in zip(read, given, strict=True)
        for size, own in zip(group.fused_body.values[name].shape, one.shape, strict=True)
        if isinstance(size, str)
    }
    node = replace(group, inputs=read, body=replace(group.fused_body, inputs=read))
    try:
        return build_sequence(node, sizes)
    except FusionError:
        return build(replace(node, body=substitute_sizes(node.fused_body, sizes))).kernel
