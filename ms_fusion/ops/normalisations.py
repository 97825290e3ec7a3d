"""Softmax and normalisations, and their gradients."""

from __future__ import annotations

from typing import Any

from ms_fusion.ops.call import (
    Array,
    Call,
)
from ms_fusion.ops.late_imports import np
from ms_fusion.ops.op_info import (
    EXP_CAUTION,
    SINGLE_AND_HALF,
    Advice,
    Batch,
    BatchRule,
    Cluster,
    Expand,
    MindSporeFusion,
    MindSporeGenerator,
    OpInfo,
    Split,
    Trait,
    VerifiedFlag,
    WorkRule,
)


def _softmax(call: Call) -> Array:
    axes = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
    source = call.inputs[0]
    powers = np.exp(source - np.max(source, axis=axes or -1, keepdims=True))
    return powers / np.sum(powers, axis=axes or -1, keepdims=True)


def _log_softmax(call: Call) -> Array:
    axis = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
    level = call.inputs[0] - np.max(call.inputs[0], axis=axis or -1, keepdims=True)
    return level - np.log(np.sum(np.exp(level), axis=axis or -1, keepdims=True))


def _log_softmax_gradient(call: Any) -> Any:
    """Computes dy − e^y · Σ dy for the inputs (y, gradient dy of y)."""
    y, dy = call.inputs[:2]
    axis = (call.integers("axis", 2) or (-1,))[0]
    return dy - np.exp(y) * np.sum(dy, axis=axis, keepdims=True)


OPERATORS = (
    OpInfo(
        "Softmax",
        formula=_softmax,
        traits=Trait.ROW_REDUCTION,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=17,
        steps=29,
        batch=BatchRule(Batch.ALONG_AXES, axis=("axis", -1)),
        mindspore=MindSporeFusion(
            expand=Expand.BY_FLAG_FOR_OURS,
            basics=5,
            expansion=("ReduceMax", "Sub", "Exp", "ReduceSum", "RealDiv"),
            split=Split.BEGINS_WITH_REDUCTION | Split.ENDS_IN_BROADCAST,
        ),
        mindspore_generator=MindSporeGenerator(not_auto="through Exp: 151 → 4,690 ULP"),
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF, caution=EXP_CAUTION)),
    ),
    OpInfo(
        "LogSoftmax",
        formula=_log_softmax,
        traits=Trait.ROW_REDUCTION,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=14,
        steps=30,
        batch=BatchRule(Batch.ALONG_AXES, axis=("axis", -1)),
        mindspore=MindSporeFusion(
            expand=Expand.BY_FLAG,
            basics=6,
            split=Split.BEGINS_WITH_REDUCTION | Split.ENDS_IN_BROADCAST,
        ),
        mindspore_generator=MindSporeGenerator(
            not_auto="through Exp, whose error of 2.8e-4 is large beside a logarithm near 0"
        ),
        whole=True,
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    OpInfo("LogSoftmaxExt", batch=BatchRule(Batch.ALONG_AXES, axis=("dim", None))),
    OpInfo("SoftmaxGrad", work=WorkRule.PER_INPUT_ELEMENT, flops=4),
    OpInfo(
        "LogSoftmaxGrad",
        formula=_log_softmax_gradient,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=14,
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
    ),
    OpInfo(
        "LayerNorm",
        onnx=("LayerNormalization",),
        traits=Trait.ROW_REDUCTION,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=7,
        steps=16,
        batch=BatchRule(Batch.LAYER_NORM),
        mindspore=MindSporeFusion(
            expand=Expand.BY_FLAG_FOR_OURS,
            basics=12,
            expansion=(
                "ReduceSum",
                "Mul",
                "Sub",
                "Mul",
                "ReduceSum",
                "Mul",
                "Add",
                "Rsqrt",
                "Mul",
                "Mul",
                "Add",
            ),
            split=Split.BEGINS_WITH_REDUCTION | Split.ENDS_IN_BROADCAST,
            expands_float16=False,
        ),
        mindspore_generator=MindSporeGenerator(
            not_auto=(
                "as accurate, but four kernels in place of one: nothing is fused behind a reduction"
            ),
            for_speed=True,
        ),
        advice=Advice(expand_flag=VerifiedFlag()),
    ),
    OpInfo("LayerNormV3", work=WorkRule.PER_INPUT_ELEMENT, flops=7),
    OpInfo("LayerNormExt", batch=BatchRule(Batch.LAYER_NORM_OF_SHAPE)),
    OpInfo(
        "LayerNormGrad",
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=14,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG_FOR_OURS, expands_float16=False),
        advice=Advice(no_flag="was measured with our generator only, which has it by itself"),
    ),
    OpInfo("LayerNormGradV3", work=WorkRule.PER_INPUT_ELEMENT, flops=14),
    OpInfo(
        "RmsNorm",
        onnx=("RMSNormalization",),
        traits=Trait.ROW_REDUCTION,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=4,
        steps=12,
        batch=BatchRule(Batch.LAST_AXIS),
    ),
    OpInfo(
        "BatchNorm",
        onnx=("BatchNormalization",),
        traits=Trait.ROW_REDUCTION | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=4,
        steps=4,
        batch=BatchRule(Batch.BATCH_NORM),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS),
        excluded=(
            "its arguments epsilon and training are missing from the kernel's description, and "
            "in training MindSpore raises a type error"
        ),
    ),
    OpInfo("BatchNormExt", batch=BatchRule(Batch.BATCH_NORM)),
    OpInfo(
        "BatchNormGrad", traits=Trait.HAS_LIBRARY_KERNEL, work=WorkRule.PER_INPUT_ELEMENT, flops=11
    ),
    OpInfo(
        "GroupNorm",
        traits=Trait.ROW_REDUCTION,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=7,
        steps=16,
        batch=BatchRule(Batch.IMAGE),
    ),
    OpInfo("InstanceNormalization", traits=Trait.ROW_REDUCTION, steps=16),
)
