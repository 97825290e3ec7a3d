"""Optimizer steps, and operators that overwrite a parameter."""

from __future__ import annotations

from ms_fusion.ops.call import (
    binary,
)
from ms_fusion.ops.late_imports import np
from ms_fusion.ops.op_info import (
    Advice,
    Expand,
    MindSporeFusion,
    OpInfo,
    Trait,
    WorkRule,
)

OPERATORS = (
    OpInfo(
        "Adam",
        traits=Trait.IN_PLACE,
        work=WorkRule.OPTIMIZER,
        flops=18,
        overwrites=(0, 1, 2),
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT),
    ),
    OpInfo("FusedAdam", work=WorkRule.OPTIMIZER, flops=18, overwrites=(0, 1, 2)),
    OpInfo(
        "AdamWeightDecay",
        traits=Trait.IN_PLACE,
        work=WorkRule.OPTIMIZER,
        flops=20,
        overwrites=(0, 1, 2),
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG_FOR_OURS),
        advice=Advice(no_flag="was measured with our generator only, which has it by itself"),
    ),
    OpInfo("FusedAdamWeightDecay", work=WorkRule.OPTIMIZER, flops=20, overwrites=(0, 1, 2)),
    *(
        OpInfo(name, work=WorkRule.OPTIMIZER, flops=4, overwrites=(0, 1))
        for name in "ApplyMomentum Momentum".split()
    ),
    OpInfo("SGD", work=WorkRule.OPTIMIZER, flops=3, overwrites=(0,)),
    OpInfo("ApplyRMSProp", work=WorkRule.OPTIMIZER, flops=16, overwrites=(0, 1, 2)),
    OpInfo(
        "Assign",
        formula=lambda call: np.broadcast_to(call.inputs[1], call.inputs[0].shape),
        traits=Trait.IN_PLACE,
        work=WorkRule.ASSIGN,
        flops=0,
        mindspore=MindSporeFusion(ascend_level=0),
    ),
    OpInfo(
        "AssignAdd",
        formula=binary(np.add),
        traits=Trait.IN_PLACE,
        work=WorkRule.ASSIGN,
        flops=1,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT),
    ),
    OpInfo("AssignSub", traits=Trait.IN_PLACE, work=WorkRule.ASSIGN, flops=1),
)
