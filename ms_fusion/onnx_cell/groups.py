"""A fused group as an operator of `custom_ops`: its kernel, and the gradient that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from custom_ops.specs import OpSpec
from ms_fusion.formats.onnx_graph import ONNX_OP
from ms_fusion.graph import Node
from ms_fusion.onnx_fusion.kernels import outputs_of, read_inputs
from ms_fusion.onnx_fusion.python_names import identifier
from tbe_impl.dsl.dtypes import DTYPES

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
    return OpSpec(
        identifier(group.op),
        tuple(places.values()),
        tuple(f"y{number}" for number in range(len(body.outputs))),
        forward=forward,
        undifferentiable=frozenset(places[name] for name in fixed),
        dtypes=tuple(DTYPES),
        place=group.name,
        doc=f"{len(body.nodes)} operators of an ONNX model as one kernel.",
    )
