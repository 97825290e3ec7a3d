"""Activation functions with a scalar argument that MindSpore's description of a kernel lacks.

These operators cannot be clustered. Our presets expand the functions and Cells of MindSpore that
use them.
"""

from __future__ import annotations

from typing import Any

from ms_fusion.ops.call import Array, Call, nary
from ms_fusion.ops.late_imports import np
from ms_fusion.ops.op_info import (
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
    """Computes x where |x| exceeds the threshold, else 0; 0 for NaN."""
    return np.where(x > threshold, x, np.where(x < -threshold, x, 0.0))


def _celu(x: Array, alpha: Any) -> Any:
    """Computes x for x ≥ 0, and alpha · (e^(x / alpha) − 1) for x < 0."""
    return np.where(x < 0, alpha * np.expm1(np.where(x < 0, x, 0.0) / alpha), x)


def _celu_with_operand(call: Call) -> Call:
    """Rewrites ONNX's Celu: its attribute alpha becomes an operand."""
    return call.in_form(inputs=(call.inputs[0], call.attribute("alpha")))


def _shrink_gradient(dy: Array, x: Array, threshold: Any) -> Any:
    """Computes the gradient of SoftShrink and HShrink: 0 where |x| ≤ threshold, else dy."""
    return np.where((x >= -threshold) & (x <= threshold), 0 * dy, dy)


def _soft_shrink(x: Array, threshold: Any) -> Any:
    """Computes sign(x) · (|x| − threshold) where |x| exceeds the threshold, else 0; 0 for NaN."""
    return np.where(x > threshold, x - threshold, np.where(x < -threshold, x + threshold, 0.0))


OPERATORS = (
    elementwise(
        "CeLU",
        onnx=(OnnxOperator("Celu", _celu_with_operand),),
        formula=nary(_celu),
        traits=Trait.IDENTITY_ON_NON_NEGATIVE,
        flops=14,
        steps=26,
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS,
            source_expansion=SourceExpansion(
                formula=_celu,
                function="mindspore.ops.celu",
                cells=(("mindspore.nn.CELU", "celu.alpha"),),
                least_scalar=1e-6,
            ),
        ),
        excluded=f"{ARGUMENT_MISSING}; `ops.celu` and `nn.CELU` are expanded instead",
    ),
    elementwise(
        "HShrink",
        formula=nary(_hard_shrink),
        flops=3,
        steps=3,
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS,
            source_expansion=SourceExpansion(
                formula=_hard_shrink,
                function="mindspore.ops.hardshrink",
                cells=(("mindspore.nn.HShrink", "hshrink.lambd"),),
            ),
        ),
        excluded=f"{ARGUMENT_MISSING}; `ops.hardshrink` and `nn.HShrink` are expanded instead",
    ),
    OpInfo(
        "HShrinkGrad",
        formula=nary(_shrink_gradient),
        work=WorkRule.ELEMENTWISE,
        flops=3,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
        excluded=ARGUMENT_MISSING,
    ),
    elementwise(
        "SoftShrink",
        formula=nary(_soft_shrink),
        flops=4,
        steps=4,
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS,
            source_expansion=SourceExpansion(
                formula=_soft_shrink,
                function="mindspore.ops.softshrink",
                cells=(("mindspore.nn.SoftShrink", "softshrink.lambd"),),
            ),
        ),
        excluded=f"{ARGUMENT_MISSING}; `ops.softshrink` and `nn.SoftShrink` are expanded instead",
    ),
    OpInfo(
        "SoftShrinkGrad",
        formula=nary(_shrink_gradient),
        work=WorkRule.ELEMENTWISE,
        flops=3,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
        excluded=ARGUMENT_MISSING,
    ),
)
