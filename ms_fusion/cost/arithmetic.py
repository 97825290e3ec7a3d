"""How much arithmetic an operator does for each element, one table for each family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DIVISION = 4
TRANSCENDENTAL = 10
FLOPS_PER_ELEMENT: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(
        """Add Sub Mul Neg Abs Maximum Minimum Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr
        LogicalNot LogicalXor Select Square Sign Floor Ceil Trunc Round Rint IsNan IsInf IsFinite ReLU ReLU6 ReluGrad
        ReLUGrad BiasAdd AssignAdd AssignSub""".split(),
        1,
    )
    | dict.fromkeys(
        "Div RealDiv Mod FloorDiv FloorMod Reciprocal Inv Sqrt Rsqrt DivNoNan TruncateDiv".split(),
        DIVISION,
    )
    | dict.fromkeys(
        "Exp Log Tanh Sin Cos Tan ACos Asin Atan Atan2 Asinh Acosh Atanh Sinh Cosh Erf Erfc Expm1 Log1p".split(),
        TRANSCENDENTAL,
    )
    | {
        "Cast": 0,
        "Assign": 0,
        "BroadcastTo": 0,
        "Tile": 0,
        "OnesLike": 0,
        "ZerosLike": 0,
        "OneHot": 0,
        "Fill": 0,
        "Stack": 0,
        "ResizeNearestNeighbor": 0,
        "ReLU6Grad": 2,
        "HSigmoidGrad": 3,
        "HSwishGrad": 5,
        "Elu": TRANSCENDENTAL + 2,
        "EluGrad": 3,
        "SquaredDifference": 2,
        "LeakyReLU": 2,
        "HSigmoid": 4,
        "HSwish": 5,
        "Dropout": 2,
        "DropoutGrad": 2,
        "MaximumGrad": 2,
        "MinimumGrad": 2,
        "Pow": 2 * TRANSCENDENTAL + 1,
        "Sigmoid": TRANSCENDENTAL + DIVISION + 2,
        "SiLU": TRANSCENDENTAL + DIVISION + 3,
        "Swish": TRANSCENDENTAL + DIVISION + 3,
        "Softplus": 2 * TRANSCENDENTAL + 1,
        "Mish": 3 * TRANSCENDENTAL + 2,
        "GeLU": TRANSCENDENTAL + 8,
        "FastGeLU": TRANSCENDENTAL + DIVISION + 5,
        "SigmoidGrad": 3,
        "TanhGrad": 3,
        "SqrtGrad": DIVISION + 1,
        "SiLUGrad": TRANSCENDENTAL + DIVISION + 6,
        "GeLUGrad": TRANSCENDENTAL + 20,
        "SoftplusGrad": TRANSCENDENTAL + DIVISION + 2,
    }
)
"""FLOPs for each output element: 1 for what one instruction does, 4 for a division or root, 10 for exp and its kin."""

CONTROL = frozenset("call Call Partial Switch SwitchLayer SwitchCase".split())
REDUCED = MappingProxyType(
    dict.fromkeys(
        "ReduceSum ReduceMax ReduceMin ReduceProd ReduceAll ReduceAny BiasAddGrad ArgMax ArgMin CumSum".split(),
        0,
    )
    | {"ReduceMean": DIVISION, "ArgMaxWithValue": 0, "ArgMinWithValue": 0, "SquareSumAll": 1}
)
"""Reductions: one FLOP for each input element, plus this for each output element."""

PER_INPUT_ELEMENT: Mapping[str, int] = MappingProxyType(
    {
        "Softmax": 3 + TRANSCENDENTAL + DIVISION,
        "LogSoftmax": 4 + TRANSCENDENTAL,
        "SoftmaxGrad": 4,
        "LogSoftmaxGrad": 4 + TRANSCENDENTAL,
        "LayerNorm": 7,
        "LayerNormV3": 7,
        "RmsNorm": 4,
        "LayerNormGrad": 14,
        "LayerNormGradV3": 14,
        "BatchNorm": 4,
        "BatchNormGrad": 11,
        "GroupNorm": 7,
        "SoftmaxCrossEntropyWithLogits": 8 + 2 * TRANSCENDENTAL,
        "SparseSoftmaxCrossEntropyWithLogits": 8 + TRANSCENDENTAL,
    }
)
"""Normalisations and their gradients: FLOPs for each element of the first input (sums, differences and squares counted)."""

OPTIMISERS: Mapping[str, tuple[tuple[int, ...], int]] = MappingProxyType(
    {
        "Adam": ((0, 1, 2), 10 + 2 * DIVISION),
        "FusedAdam": ((0, 1, 2), 10 + 2 * DIVISION),
        "AdamWeightDecay": ((0, 1, 2), 12 + 2 * DIVISION),
        "FusedAdamWeightDecay": ((0, 1, 2), 12 + 2 * DIVISION),
        "ApplyMomentum": ((0, 1), 4),
        "Momentum": ((0, 1), 4),
        "SGD": ((0,), 3),
        "ApplyRMSProp": ((0, 1, 2), 8 + 2 * DIVISION),
    }
)
"""Optimisers: positions of the inputs that they overwrite, FLOPs for each element of the weight."""
