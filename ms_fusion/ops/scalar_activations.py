"""Activation functions with a scalar argument that MindSpore's description of a kernel lacks.

MindSpore cannot cluster these operators. Our presets (named sets of MindSpore's fusion flags)
therefore expand MindSpore's functions and Cells that use these operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ms_fusion.ops.call import Array, Call, nary
from ms_fusion.ops.late_imports import np
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    Cluster,
    MindSporeFusion,
    OnnxOperator,
    OpInfo,
    SourceExpansion,
    Trait,
    WorkRule,
    elementwise,
)

ARGUMENT_MISSING = "its scalar argument is missing from the kernel's description"


def _hard_shrink(x: Array, threshold: Any) -> Any:
    """Computes x if |x| > threshold, else 0 (also for NaN)."""
    return np.where(x > threshold, x, np.where(x < -threshold, x, 0.0))


def _celu(x: Array, alpha: Any) -> Any:
    """Computes x for x ≥ 0, and alpha · (e^(x / alpha) − 1) for x < 0."""
    return np.where(x < 0, alpha * np.expm1(np.where(x < 0, x, 0.0) / alpha), x)


def _celu_with_operand(call: Call) -> Call:
    """Rewrites ONNX's Celu: its attribute alpha becomes an operand."""
    return call.in_form(inputs=(call.inputs[0], call.attribute("alpha")))


def _shrink_gradient(dy: Array, x: Array, threshold: Any) -> Any:
    """Computes the gradient of SoftShrink or HShrink: dy if |x| > threshold, else 0."""
    return np.where((x >= -threshold) & (x <= threshold), 0 * dy, dy)


def _soft_shrink(x: Array, threshold: Any) -> Any:
    """Computes sign(x) · (|x| − threshold) if |x| > threshold, else 0 (also for NaN)."""
    return np.where(x > threshold, x - threshold, np.where(x < -threshold, x + threshold, 0.0))


def _scalar_activation(
    name: str,
    formula: Callable[..., Any],
    function: str,
    cell: tuple[str, str],
    *,
    least_scalar: float = 0.0,
    **fields: Any,
) -> OpInfo:
    """Returns the `OpInfo` of an activation function with a scalar argument; see `SourceExpansion`.

    Args:
        name: type of the operator.
        formula: function of the input and the scalar.
        function: name of MindSpore's function in `mindspore.ops`.
        cell: a pair (name of MindSpore's Cell in `mindspore.nn`, name of the Cell's attribute with
            the scalar).
        least_scalar: see `SourceExpansion`.
        fields: further fields of `OpInfo`.
    """
    expansion = SourceExpansion(
        formula=formula,
        function=f"mindspore.ops.{function}",
        cells=((f"mindspore.nn.{cell[0]}", cell[1]),),
        least_scalar=least_scalar,
    )
    return elementwise(
        name,
        formula=nary(formula),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS, source_expansion=expansion),
        excluded=f"{ARGUMENT_MISSING}; `ops.{function}` and `nn.{cell[0]}` are expanded instead",
        **fields,
    )


def _shrink_gradient_record(name: str) -> OpInfo:
    return OpInfo(
        name,
        formula=nary(_shrink_gradient),
        work=WorkRule.ELEMENTWISE,
        flops=3,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        excluded=ARGUMENT_MISSING,
    )


OPERATORS = (
    _scalar_activation(
        "CeLU",
        _celu,
        "celu",
        ("CELU", "celu.alpha"),
        onnx=(OnnxOperator("Celu", _celu_with_operand),),
        traits=Trait.IDENTITY_ON_NON_NEGATIVE,
        flops=14,
        steps=26,
        least_scalar=1e-6,
    ),
    _scalar_activation(
        "HShrink", _hard_shrink, "hardshrink", ("HShrink", "hshrink.lambd"), flops=3, steps=3
    ),
    _shrink_gradient_record("HShrinkGrad"),
    _scalar_activation(
        "SoftShrink",
        _soft_shrink,
        "softshrink",
        ("SoftShrink", "softshrink.lambd"),
        flops=4,
        steps=4,
    ),
    _shrink_gradient_record("SoftShrinkGrad"),
)
