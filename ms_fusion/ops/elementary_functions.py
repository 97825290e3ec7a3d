"""Elementary functions (exponentials, logarithms, trigonometric functions) and their gradients."""

from __future__ import annotations

import math
from typing import Any

from ms_fusion.ops.call import (
    Array,
    binary,
    nary,
    pointwise,
    unary,
)
from ms_fusion.ops.dsl_rules import dsl_operation
from ms_fusion.ops.late_imports import dsl, np
from ms_fusion.ops.op_info import (
    ELEMENTWISE,
    EXP_CAUTION,
    SINGLE_AND_HALF,
    Advice,
    Cluster,
    Expand,
    MindSporeFusion,
    MindSporeGenerator,
    OpInfo,
    Trait,
    VerifiedFlag,
    WorkRule,
    elementwise,
)


def _xlogy(x: Array, y: Array) -> Any:
    return np.where(x == 0, 0 * x, x * np.log(y))


def _xdivy(x: Array, y: Array) -> Any:
    return np.where(x == 0, 0 * x, x / y)


OPERATORS = (
    elementwise(
        "Exp",
        onnx=("Exp",),
        formula=unary(np.exp),
        traits=Trait.ANY_LAYOUT | Trait.NON_NEGATIVE,
        flops=10,
        steps=10,
        mindspore=MindSporeFusion(cluster=Cluster.BY_DEFAULT, ascend_level=0),
        mindspore_generator=MindSporeGenerator(
            wrong="float32 is 2.8e-4 off and never reaches inf",
            inaccurate="76 → 2,370 ULP, never reaches inf, NaN becomes a number",
        ),
        advice=Advice(caution=EXP_CAUTION),
    ),
    elementwise(
        "Expm1",
        formula=unary(np.expm1),
        flops=10,
        steps=26,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Log",
        onnx=("Log",),
        formula=unary(np.log),
        traits=Trait.ANY_LAYOUT | Trait.LIMITED_DOMAIN,
        flops=10,
        steps=20,
        mindspore=MindSporeFusion(cluster=Cluster.BY_DEFAULT, ascend_level=0),
        mindspore_generator=MindSporeGenerator(
            wrong="of NaN, inf and 0 is wrong",
            inaccurate="wrong for 0, inf and NaN (accurate elsewhere: 25,000 → 0.8 ULP)",
        ),
        advice=Advice(caution="of 0, inf and NaN it is wrong"),
    ),
    elementwise(
        "Log1p",
        formula=unary(np.log1p),
        traits=Trait.LIMITED_DOMAIN,
        flops=10,
        steps=26,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Sin",
        onnx=("Sin",),
        formula=unary(np.sin),
        flops=10,
        steps=26,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG),
        mindspore_generator=MindSporeGenerator(auto_cluster="0.5 → 0.56 ULP"),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "Cos",
        onnx=("Cos",),
        formula=unary(np.cos),
        flops=10,
        steps=26,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG),
        mindspore_generator=MindSporeGenerator(auto_cluster="0.5 → 0.56 ULP"),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "Tan",
        onnx=("Tan",),
        formula=unary(np.tan),
        flops=10,
        steps=26,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Asin",
        onnx=("Asin",),
        formula=unary(np.arcsin),
        traits=Trait.LIMITED_DOMAIN,
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "ACos",
        onnx=("Acos",),
        formula=unary(np.arccos),
        traits=Trait.LIMITED_DOMAIN,
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Atan",
        onnx=("Atan",),
        formula=unary(np.arctan),
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG),
        mindspore_generator=MindSporeGenerator(auto_cluster="0.5 → 0.83 ULP"),
        advice=Advice(cluster_flag=VerifiedFlag()),
    ),
    elementwise(
        "Atan2",
        formula=binary(np.arctan2),
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Sinh",
        onnx=("Sinh",),
        formula=unary(np.sinh),
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS,
            expand=Expand.BY_FLAG,
            basics=5,
            expands_float16=False,
        ),
        advice=Advice(expand_flag=VerifiedFlag(caution=EXP_CAUTION)),
    ),
    elementwise(
        "Cosh",
        onnx=("Cosh",),
        formula=unary(np.cosh),
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS,
            expand=Expand.BY_FLAG,
            basics=5,
            expands_float16=False,
        ),
        advice=Advice(expand_flag=VerifiedFlag(caution=EXP_CAUTION)),
    ),
    elementwise(
        "Tanh",
        onnx=("Tanh",),
        formula=unary(np.tanh),
        traits=Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE,
        flops=10,
        steps=26,
        mindspore=MindSporeFusion(cluster=Cluster.BY_DEFAULT, expand=Expand.BY_FLAG),
        mindspore_generator=MindSporeGenerator(
            inaccurate="1,690 → 4,180 ULP; 445 ULP where unfused has 0.3"
        ),
        advice=Advice(no_flag="is clustered by default", caution=EXP_CAUTION),
    ),
    elementwise(
        "Asinh",
        onnx=("Asinh",),
        formula=unary(np.arcsinh),
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Acosh",
        onnx=("Acosh",),
        formula=unary(np.arccosh),
        traits=Trait.LIMITED_DOMAIN,
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Atanh",
        onnx=("Atanh",),
        formula=unary(np.arctanh),
        traits=Trait.LIMITED_DOMAIN,
        flops=10,
        steps=30,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    elementwise(
        "Erf",
        onnx=("Erf",),
        formula=pointwise(math.erf),
        lowering=dsl_operation(dsl.ext.erf),
        traits=Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE,
        flops=10,
        steps=32,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG, expand=Expand.BY_FLAG, basics=23),
        mindspore_generator=MindSporeGenerator(auto_cluster="0.9 → 0.9 ULP"),
        advice=Advice(cluster_flag=VerifiedFlag(), expand_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "Erfc",
        formula=pointwise(math.erfc),
        lowering=dsl_operation(dsl.ext.erfc),
        flops=10,
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS, expand=Expand.BY_FLAG, basics=2
        ),
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    OpInfo(
        "Xlogy",
        formula=nary(_xlogy),
        batch=ELEMENTWISE,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    OpInfo(
        "Xdivy",
        formula=nary(_xdivy),
        batch=ELEMENTWISE,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    OpInfo(
        "TanhGrad",
        work=WorkRule.ELEMENTWISE,
        flops=3,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=3),
    ),
    OpInfo(
        "AcoshGrad",
        formula=nary(lambda y, dy: dy / np.sinh(y)),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    OpInfo(
        "AsinhGrad",
        formula=nary(lambda y, dy: dy / np.cosh(y)),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    OpInfo(
        "ACosGrad",
        formula=nary(lambda x, dy: -dy / np.sqrt((1 - x) * (1 + x))),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    OpInfo(
        "AsinGrad",
        formula=nary(lambda x, dy: dy / np.sqrt((1 - x) * (1 + x))),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    OpInfo(
        "AtanGrad",
        formula=nary(lambda x, dy: dy / (1 + x * x)),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
)
