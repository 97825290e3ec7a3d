"""Comparisons, logic, and the choice between two operands."""

from __future__ import annotations

from ms_fusion.ops.call import (
    Array,
    Call,
    binary,
    nary,
    unary,
)
from ms_fusion.ops.late_imports import np
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_DEFAULT,
    CLUSTERED_BY_DEFAULT_ON_ASCEND,
    CLUSTERED_BY_FLAG,
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    ELEMENTWISE,
    FLOATS,
    INT32,
    SINGLE_AND_HALF,
    SINGLE_HALF_AND_INT32,
    Advice,
    MindSporeGenerator,
    OpInfo,
    Trait,
    VerifiedFlag,
    elementwise,
)


def _select(call: Call) -> Array:
    condition, x, y = call.inputs[:3]
    return np.where(condition, x, y)


OPERATORS = (
    elementwise(
        "Equal",
        onnx=("Equal",),
        formula=binary(np.equal),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(inaccurate="`x == x` becomes true, also for NaN"),
        advice=Advice(caution="a comparison with NaN may come out otherwise"),
    ),
    elementwise(
        "NotEqual",
        formula=binary(np.not_equal),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(
            wrong_for=lambda source, _: source in FLOATS,
            refusal="NaN would be equal to everything",
            not_auto="false for NaN; `x != x` is how NaN is looked for",
            for_speed=True,
        ),
        advice=Advice(cluster_flag=VerifiedFlag(INT32)),
    ),
    elementwise(
        "Less",
        onnx=("Less",),
        formula=binary(np.less),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT,
    ),
    elementwise(
        "LessEqual",
        onnx=("LessOrEqual",),
        formula=binary(np.less_equal),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(precise=True),
    ),
    elementwise(
        "Greater",
        onnx=("Greater",),
        formula=binary(np.greater),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(auto_cluster="exact"),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    elementwise(
        "GreaterEqual",
        onnx=("GreaterOrEqual",),
        formula=binary(np.greater_equal),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(auto_cluster="exact", precise=True),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    elementwise(
        "LogicalAnd",
        onnx=("And",),
        formula=binary(np.logical_and),
        traits=Trait.COMMUTATIVE
        | Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(auto_cluster="exact", precise=True),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    elementwise(
        "LogicalOr",
        onnx=("Or",),
        formula=binary(np.logical_or),
        traits=Trait.COMMUTATIVE
        | Trait.CORRECTLY_ROUNDED
        | Trait.ANY_LAYOUT
        | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(
            auto_cluster="exact, but for `x > y or x <= y`, which becomes true for NaN as well"
        ),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    elementwise(
        "LogicalNot",
        onnx=("Not",),
        formula=unary(np.logical_not),
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(
            inaccurate="`not x < y` becomes `y <= x`, which differs for NaN"
        ),
        advice=Advice(caution="a comparison with NaN may come out otherwise"),
    ),
    elementwise(
        "LogicalXor",
        onnx=("Xor",),
        formula=binary(np.logical_xor),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "IsNan",
        onnx=("IsNaN",),
        formula=unary(np.isnan),
        traits=Trait.CORRECTLY_ROUNDED,
        mindspore=CLUSTERED_BY_FLAG,
        mindspore_generator=MindSporeGenerator(auto_cluster="exact", precise=True),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    elementwise(
        "IsInf",
        formula=unary(np.isinf),
        traits=Trait.CORRECTLY_ROUNDED,
        mindspore=CLUSTERED_BY_FLAG,
        mindspore_generator=MindSporeGenerator(auto_cluster="exact", precise=True),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "IsFinite",
        formula=unary(np.isfinite),
        traits=Trait.CORRECTLY_ROUNDED | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT_ON_ASCEND,
        mindspore_generator=MindSporeGenerator(auto_cluster="exact", precise=True),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    elementwise(
        "Select",
        onnx=("Where",),
        formula=_select,
        traits=Trait.CORRECTLY_ROUNDED | Trait.ANY_LAYOUT | Trait.PRECISE_ON_ACCELERATORS,
        mindspore=CLUSTERED_BY_DEFAULT,
        mindspore_generator=MindSporeGenerator(precise=True),
    ),
    OpInfo(
        "MaskedFill",
        formula=nary(lambda x, mask, value: np.where(mask, value, x)),
        batch=ELEMENTWISE,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(rewriting="ops.where(mask, value, x)", rewriting_operators=("Select",)),
    ),
)
