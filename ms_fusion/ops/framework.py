"""Framework nodes: bookkeeping, control flow, collective communication, recurrent cells."""

from __future__ import annotations

from ms_fusion.ops.call import (
    Array,
    Call,
)
from ms_fusion.ops.op_info import (
    ELEMENTWISE,
    OpInfo,
    Trait,
    WorkRule,
)


def _identity(call: Call) -> Array:
    return call.inputs[0]


OPERATORS = (
    OpInfo(
        "Load", formula=_identity, traits=Trait.BOOKKEEPING | Trait.FORWARDING, work=WorkRule.NONE
    ),
    OpInfo(
        "Depend", formula=_identity, traits=Trait.BOOKKEEPING | Trait.FORWARDING, work=WorkRule.NONE
    ),
    *(
        OpInfo(name, traits=Trait.BOOKKEEPING | Trait.FORWARDING, work=WorkRule.NONE)
        for name in "UpdateState MakeTuple TupleGetItem".split()
    ),
    *(
        OpInfo(name, traits=Trait.BOOKKEEPING, work=WorkRule.NONE)
        for name in "Return RealMakeTuple RealTupleGetItem".split()
    ),
    OpInfo("TensorMove", formula=_identity, traits=Trait.BOOKKEEPING, work=WorkRule.NONE),
    OpInfo(
        "StopGradient",
        formula=_identity,
        traits=Trait.BOOKKEEPING,
        work=WorkRule.NONE,
        batch=ELEMENTWISE,
    ),
    *(
        OpInfo(name, traits=Trait.CONTROL, work=WorkRule.NONE)
        for name in "call Call Partial Switch SwitchLayer SwitchCase".split()
    ),
    *(
        OpInfo(name, traits=Trait.HAS_LIBRARY_KERNEL)
        for name in "AllReduce AllGather ReduceScatter Broadcast LSTM GRUV2".split()
    ),
)
