"""Losses and their gradients."""

from __future__ import annotations

from typing import Any

from ms_fusion.ops.call import (
    Array,
    nary,
)
from ms_fusion.ops.late_imports import np
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    OpInfo,
    Trait,
    WorkRule,
)


def _kl_divergence(call: Any) -> Any:
    """Computes and reduces target · (ln target − x) for the inputs (x, target).

    The reduction mode is ``none``, ``sum``, ``mean`` or ``batchmean``. For an element whose target
    is not positive, the value before the reduction is 0.
    """
    x, wanted = call.inputs[:2]
    none = wanted <= 0
    each = np.where(none, 0 * wanted, wanted * (np.log(np.where(none, 1 + 0 * wanted, wanted)) - x))
    how = _reduction_mode(call)
    return each if how == "none" else np.sum(each) / _reduction_divisor(how, x)


def _kl_divergence_gradient(call: Any) -> Any:
    """Computes −target · dy / divisor for the inputs (gradient dy of the loss, x, target).

    The divisor depends on the reduction mode.
    """
    dy, x, wanted = call.inputs[:3]
    return -wanted * dy / _reduction_divisor(_reduction_mode(call), x)


def _reduction_mode(call: Any) -> str:
    return str(call.node.attr("reduction", "mean"))


def _reduction_divisor(how: str, x: Array) -> float:
    """Returns the number by which the reduction mode `how` divides the sum of all elements."""
    return float({"mean": x.size, "batchmean": x.shape[0] if x.ndim else 1}.get(how, 1))


OPERATORS = (
    OpInfo(
        "L2Loss",
        formula=nary(lambda x: np.sum(x * x) / 2),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    *(
        OpInfo(
            name,
            mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
            excluded="its scalar argument is missing from the kernel's description",
        )
        for name in "SmoothL1Loss SmoothL1LossGrad".split()
    ),
    OpInfo(
        "KLDivLoss",
        formula=_kl_divergence,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "KLDivLossGrad",
        formula=_kl_divergence_gradient,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "SoftmaxCrossEntropyWithLogits",
        traits=Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=28,
    ),
    OpInfo(
        "SparseSoftmaxCrossEntropyWithLogits",
        traits=Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=18,
    ),
)
