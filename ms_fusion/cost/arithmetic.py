"""Tables of the FLOPs that an operator does per element, one table per operator family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DIVISION_FLOPS = 4
TRANSCENDENTAL_FLOPS = 10
FLOPS_PER_ELEMENT: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(
        """Add Sub Mul Neg Abs Maximum Minimum Equal NotEqual Less LessEqual Greater GreaterEqual
        LogicalAnd LogicalOr LogicalNot LogicalXor Select Square Sign Floor Ceil Trunc Round Rint
        IsNan IsInf IsFinite ReLU ReLU6 ReluGrad ReLUGrad BiasAdd AssignAdd AssignSub""".split(),
        1,
    )
    | dict.fromkeys(
        "Div RealDiv Mod FloorDiv FloorMod Reciprocal Inv Sqrt Rsqrt DivNoNan TruncateDiv".split(),
        DIVISION_FLOPS,
    )
    | dict.fromkeys(
        "Exp Log Tanh Sin Cos Tan ACos Asin Atan Atan2 Asinh Acosh Atanh Sinh Cosh Erf Erfc "
        "Expm1 Log1p".split(),
        TRANSCENDENTAL_FLOPS,
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
        "Elu": TRANSCENDENTAL_FLOPS + 2,
        "EluGrad": 3,
        "SquaredDifference": 2,
        "LeakyReLU": 2,
        "HSigmoid": 4,
        "HSwish": 5,
        "Dropout": 2,
        "DropoutGrad": 2,
        "MaximumGrad": 2,
        "MinimumGrad": 2,
        "Pow": 2 * TRANSCENDENTAL_FLOPS + 1,
        "Sigmoid": TRANSCENDENTAL_FLOPS + DIVISION_FLOPS + 2,
        "SiLU": TRANSCENDENTAL_FLOPS + DIVISION_FLOPS + 3,
        "Swish": TRANSCENDENTAL_FLOPS + DIVISION_FLOPS + 3,
        "Softplus": 2 * TRANSCENDENTAL_FLOPS + 1,
        "Mish": 3 * TRANSCENDENTAL_FLOPS + 2,
        "GeLU": TRANSCENDENTAL_FLOPS + 8,
        "FastGeLU": TRANSCENDENTAL_FLOPS + DIVISION_FLOPS + 5,
        "SigmoidGrad": 3,
        "TanhGrad": 3,
        "SqrtGrad": DIVISION_FLOPS + 1,
        "SiLUGrad": TRANSCENDENTAL_FLOPS + DIVISION_FLOPS + 6,
        "GeLUGrad": TRANSCENDENTAL_FLOPS + 20,
        "SoftplusGrad": TRANSCENDENTAL_FLOPS + DIVISION_FLOPS + 2,
    }
)
"""FLOPs per output element: 1 for a single instruction, 4 for a division or root, 10 for an exp."""

CONTROL_OPERATORS = frozenset("call Call Partial Switch SwitchLayer SwitchCase".split())
REDUCTION_FLOPS = MappingProxyType(
    dict.fromkeys(
        "ReduceSum ReduceMax ReduceMin ReduceProd ReduceAll ReduceAny BiasAddGrad ArgMax "
        "ArgMin CumSum".split(),
        0,
    )
    | {"ReduceMean": DIVISION_FLOPS, "ArgMaxWithValue": 0, "ArgMinWithValue": 0, "SquareSumAll": 1}
)
"""Reduction → FLOPs per output element, on top of one FLOP per input element."""

FLOPS_PER_INPUT_ELEMENT: Mapping[str, int] = MappingProxyType(
    {
        "Softmax": 3 + TRANSCENDENTAL_FLOPS + DIVISION_FLOPS,
        "LogSoftmax": 4 + TRANSCENDENTAL_FLOPS,
        "SoftmaxGrad": 4,
        "LogSoftmaxGrad": 4 + TRANSCENDENTAL_FLOPS,
        "LayerNorm": 7,
        "LayerNormV3": 7,
        "RmsNorm": 4,
        "LayerNormGrad": 14,
        "LayerNormGradV3": 14,
        "BatchNorm": 4,
        "BatchNormGrad": 11,
        "GroupNorm": 7,
        "SoftmaxCrossEntropyWithLogits": 8 + 2 * TRANSCENDENTAL_FLOPS,
        "SparseSoftmaxCrossEntropyWithLogits": 8 + TRANSCENDENTAL_FLOPS,
    }
)
"""Normalisation or its gradient → FLOPs per element of the first input, sums included."""

OPTIMISERS: Mapping[str, tuple[tuple[int, ...], int]] = MappingProxyType(
    {
        "Adam": ((0, 1, 2), 10 + 2 * DIVISION_FLOPS),
        "FusedAdam": ((0, 1, 2), 10 + 2 * DIVISION_FLOPS),
        "AdamWeightDecay": ((0, 1, 2), 12 + 2 * DIVISION_FLOPS),
        "FusedAdamWeightDecay": ((0, 1, 2), 12 + 2 * DIVISION_FLOPS),
        "ApplyMomentum": ((0, 1), 4),
        "Momentum": ((0, 1), 4),
        "SGD": ((0,), 3),
        "ApplyRMSProp": ((0, 1, 2), 8 + 2 * DIVISION_FLOPS),
    }
)
"""Optimiser → (positions of overwritten inputs, FLOPs per element of the weight)."""
