"""Tables of how MindSpore's graph kernel fusion treats each operator.

The CPU tables were measured on MindSpore 2.10; the Ascend tables were read from MindSpore's source.
Presets choose flags from the tables. The linter takes its names from them, and the ledger its
explanations.
"""

from __future__ import annotations

CPU_CLUSTER_OPS = frozenset(
    """Abs Add Cast Equal Exp Log Maximum Minimum Mul Neg Pow RealDiv Reciprocal ReduceSum Reshape
    Round Rsqrt Sqrt Sub Tanh Transpose LogicalNot Mod ReduceMax Select Less LessEqual""".split()
)
"""Clustered on CPU by default."""

MINDSPORE_GENERATOR_ONLY_OPS = frozenset({"Reshape"})
"""Subset of `CPU_CLUSTER_OPS` that is a default for MindSpore's own generator only.

Presets enable it.
"""

CPU_EXPAND_OPS = frozenset(
    """AddN AssignAdd ExpandDims GeLU GeLUGrad SqrtGrad Square Tile OnesLike BiasAdd BiasAddGrad
    ReLU MaximumGrad MinimumGrad Adam TanhGrad Softplus SoftplusGrad""".split()
)
"""Expanded into basic operators on CPU by default."""

CPU_CLUSTERABLE_OPS = frozenset(
    """Div NotEqual Greater GreaterEqual LogicalAnd LogicalOr Sin Cos Atan Erf Floor FloorDiv
    FloorMod IsNan IsInf IsFinite Sign StridedSlice ReduceMin BroadcastTo Tile OneHot
    CumSum""".split()
)
"""Clustered on CPU under `--enable_cluster_ops`, and built by MindSpore's own generator."""

CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY = frozenset(
    """Tan ACos Asin Atan2 Asinh Acosh Atanh Erfc Expm1 Log1p Ceil Trunc Rint Slice ReduceProd
    ReduceAll ReduceAny ReduceMean Gather Concat Sinh Cosh Inv Conv2D MatMul BatchMatMul
    BatchNorm MaxPool Conv2DBackpropInput Conv2DBackpropFilter MaxPoolGrad AvgPool AvgPoolGrad
    MaxPool3D MaxPool3DGrad AvgPool3D AvgPool3DGrad AdaptiveAvgPool2D AdaptiveAvgPool2DGrad
    AdaptiveMaxPool2D MaxPoolWithArgmaxV2 MaxPool3DWithArgmax ResizeNearestNeighbor
    ResizeNearestNeighborGrad Stack Split Pad PadV3 UnsortedSegmentSum ReLU6 ReLU6Grad
    HSigmoidGrad HSwishGrad Elu EluGrad Mish CeLU SeLU Softsign SoftShrink SoftShrinkGrad HShrink
    HShrinkGrad FastGeLUGrad LogSoftmaxGrad RsqrtGrad AcoshGrad AsinhGrad ACosGrad AsinGrad
    AtanGrad DropoutGrad Addcmul Addcdiv AddExt SubExt Lerp MaskedFill LogicalXor Xlogy Xdivy
    Fmax Fmin Hypot L2Loss SmoothL1Loss SmoothL1LossGrad KLDivLoss KLDivLossGrad FillV2 Tril Triu
    ReverseV2""".split()
)
"""Clustered on CPU under `--enable_cluster_ops`; built only by generators other than MindSpore's.

No generator builds some of them.
"""

CPU_EXPANDABLE_OPS = frozenset(
    """Sigmoid SigmoidGrad ReluGrad SquaredDifference Squeeze Slice ReduceMean Softmax LogSoftmax
    LayerNorm LayerNormGrad Erfc SiLU HSigmoid HSwish Sinh Cosh Erf Tanh SquareSumAll FastGeLU
    AdamWeightDecay""".split()
)
"""Expanded into basic operators on CPU under `--enable_expand_ops`."""

CPU_EXPAND_OPS_OF_OWN_GENERATOR = frozenset(
    """AdamWeightDecay LayerNorm LayerNormGrad ReluGrad SigmoidGrad Softmax SquaredDifference
    Squeeze""".split()
)
"""Subset of `CPU_EXPANDABLE_OPS` that the presets expand for our generator."""

ASCEND_CLUSTER_OPS = frozenset(
    """Abs Add BroadcastTo Cast Exp Log Maximum Minimum Mul Neg Pow Div RealDiv Reciprocal Rsqrt
    Sqrt Sub Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot
    Select Assign ReduceSum IsFinite Transpose Floor Ceil Trunc""".split()
)
"""Clustered on Ascend by default."""

ASCEND_CLUSTER_OPS_LEVEL_1 = frozenset("Reshape MatMul BatchMatMul GroupedMatmul".split())
"""Clustered on Ascend additionally from `--fusion_ops_level=1`."""

CRASHING_OPS = {
    "Round": None,
    "Pow": frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}),
    "Sqrt": frozenset(
        {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}
    ),
}
"""Operator that crashes MindSpore's own CPU generator → the dtypes that crash it; None for all.

The dtype bfloat16 crashes the generator with every operator.
"""

MISCOMPUTED_OPS = {
    "Cast": "float64 to float16 gives garbage",
    "Reciprocal": "of integers gives 0",
    "ReduceSum": "of bool gives parity",
    "Neg": "of uint32 gives 0",
    "Exp": "float32 is 2.8e-4 off and never reaches inf",
    "Log": "of NaN, inf and 0 is wrong",
    "Transpose": "leaves its result unwritten when its Reshape is a result of the same "
    "kernel (seen in attention's gradient)",
}
"""Operator that MindSpore's own CPU generator computes wrongly → what is wrong."""

REDUCTIONS = frozenset(
    """ReduceSum ReduceMax ReduceMin ReduceMean ReduceProd ReduceAll ReduceAny CumSum
    BiasAddGrad""".split()
)

CORRECTLY_ROUNDED_OPS = frozenset(
    """Abs Add Cast Div Equal Floor Ceil Trunc Greater GreaterEqual IsFinite IsInf IsNan Less
    LessEqual LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul Neg NotEqual RealDiv Reshape
    Select Sign Sqrt Sub""".split()
)
"""Operators whose result is correctly rounded, so that fusion changes no bit of it.

The exception is contraction of a product and a sum.
"""

RANDOM_OPS = frozenset(
    """Bernoulli Dropout Dropout2D Dropout3D DropoutExt DropoutGenMask Gamma LogNormalReverse
    Multinomial MultinomialWithReplacement ParameterizedTruncatedNormal Poisson RandomCategorical
    RandomChoiceWithMask RandomGamma RandomPoisson RandomShuffle Randperm RandpermV2
    StandardLaplace StandardNormal TruncatedNormal UniformInt UniformReal""".split()
)
"""Operators whose results are random and differ in each run."""

VIEWS = frozenset("Reshape ExpandDims Squeeze Flatten FlattenGrad".split())
"""Operators that only change the shape: alone they move no byte and launch no kernel."""

BOOKKEEPING = frozenset(
    """Load Depend UpdateState MakeTuple TupleGetItem Return TensorMove StopGradient RealMakeTuple
    RealTupleGetItem""".split()
)
"""Framework nodes that compute nothing and launch no kernel."""
