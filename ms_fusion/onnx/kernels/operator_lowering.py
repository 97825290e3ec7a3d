"""Lowers ONNX operators to the DSL by the lowering rules of their records in `ms_fusion.ops`.

float16 and bfloat16 are computed in float32 and rounded at the kernel's outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import ONNX_OPERATORS, operator_info
from ms_fusion.ops.call import ONNX_OP, Call, numpy_dtype
from tbe_impl.errors import InputError

SHAPE_ELEMENTS = 64


def has_lowering_rule(node: Node, graph: Graph) -> bool:
    """Returns whether an operator of this type can be part of a generated kernel.

    An operator whose results are a few integers is excluded, because such an operator usually
    computes sizes or indices. The runtime that executes the model computes this operator.
    """
    counts = all(
        value.dtype.startswith(("int", "uint"))
        and not value.is_dynamic
        and value.elements <= SHAPE_ELEMENTS
        for value in graph.outputs_of(node)
    )
    return node.attr(ONNX_OP) in ONNX_OPERATORS and not counts


def lower_operator(call: Call, outputs: Sequence[Value]) -> tuple[Any, ...]:
    """Lowers an operator to traced tensors of the dtypes of `outputs`.

    A node with the attribute `ONNX_OP` has ONNX's inputs and attributes. Any other node has the
    inputs and attributes of its record. A result in half precision is a float32 tensor, because
    only the kernel's outputs are rounded.

    Raises:
        InputError: the operator cannot be lowered. The error names the node.
    """
    record, form = ONNX_OPERATORS.get(call.node.attr(ONNX_OP), (operator_info(call.node.op), None))
    own = call.in_form(op=record.name)
    own = form.adapter(own) if form and form.adapter else own
    rule = operator_info(own.node.op).lowering_rule
    if rule is None:
        raise InputError("its record has no lowering rule", place=call.node.name)
    found = rule(own)
    results = tuple(found) if isinstance(found, list | tuple) else (found,)
    return tuple(_cast_to(one, value.dtype) for one, value in zip(results, outputs, strict=False))


def _cast_to(found: Any, dtype: str) -> Any:
    wanted = np.dtype(np.float32) if dtype in ("float16", "bfloat16") else numpy_dtype(dtype)
    return found if found.dtype == wanted else found.astype(wanted)
