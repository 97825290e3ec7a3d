"""Random numbers and dropout."""

from __future__ import annotations

from typing import Any

from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    OpInfo,
    Trait,
    WorkRule,
)


def _dropout_gradient(call: Any) -> Any:
    """Computes dy · mask / keep_prob for the inputs (dy, mask); dy is the gradient of y."""
    dy, mask = call.inputs[:2]
    return dy * mask / call.number("keep_prob", 2)


OPERATORS = (
    OpInfo(
        "Dropout",
        traits=Trait.RANDOM | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.ELEMENTWISE,
        flops=2,
    ),
    *(
        OpInfo(name, traits=Trait.RANDOM)
        for name in """Dropout2D Dropout3D DropoutExt DropoutGenMask Bernoulli Gamma
        LogNormalReverse
        Multinomial MultinomialWithReplacement ParameterizedTruncatedNormal Poisson
        RandomCategorical RandomChoiceWithMask RandomGamma RandomPoisson RandomShuffle
        Randperm RandpermV2 StandardLaplace StandardNormal TruncatedNormal UniformInt
        UniformReal""".split()
    ),
    OpInfo(
        "DropoutGrad",
        formula=_dropout_gradient,
        traits=Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.ELEMENTWISE,
        flops=2,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
)
