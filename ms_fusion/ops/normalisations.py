"""Softmax and normalisations, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ms_fusion.ops.call import (
    ONNX_VERSION,
    Array,
    Call,
)
from ms_fusion.ops.late_imports import arrays, dsl, np
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    EXP_CAUTION,
    SINGLE_AND_HALF,
    Advice,
    Batch,
    BatchRule,
    Expand,
    MindSporeFusion,
    MindSporeGenerator,
    OnnxOperator,
    OpInfo,
    Split,
    Trait,
    VerifiedFlag,
    WorkRule,
)
from tbe_impl.errors import InputError


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
    """Computes dy − e^y · Σ dy for the inputs (y, dy); dy is the gradient of y."""
    y, dy = call.inputs[:2]
    axis = (call.integers("axis", 2) or (-1,))[0]
    return dy - np.exp(y) * np.sum(dy, axis=axis, keepdims=True)


def _reciprocal_root(x: Array) -> Any:
    return 1 / np.sqrt(x)


def _lower_reciprocal_root(x: Any) -> Any:
    return arrays.TracedArray(dsl.vrsqrt(arrays.tensor_of(x)))


Root = Callable[[Any], Any]


def _normalise(x: Array, axes: tuple[int, ...], epsilon: float, root: Root) -> Any:
    centred = x - np.mean(x, axis=axes, keepdims=True)
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    return centred * root(variance + epsilon)


def _axes_from(call: Call) -> tuple[int, ...]:
    """Returns the axes of the first operand from `begin_norm_axis` (an attribute) to the last."""
    ndim = call.inputs[0].ndim
    return tuple(range(int(call.attribute("begin_norm_axis")) % ndim, ndim))


def _layer_norm(call: Call, root: Root = _reciprocal_root) -> Any:
    """Computes the first result of LayerNorm of (x, scale, shift); the shift is optional."""
    x, scale, shift = call.inputs[0], call.inputs[1], call.optional_input(2)
    found = _normalise(x, _axes_from(call), call.attribute("epsilon"), root) * scale
    return found if shift is None else found + shift


def _rms_norm(call: Call, root: Root = _reciprocal_root) -> Any:
    """Computes the first result of RmsNorm of (x, scale)."""
    x = call.inputs[0]
    power = np.mean(x * x, axis=_axes_from(call), keepdims=True)
    return x * root(power + call.attribute("epsilon")) * call.inputs[1]


def _reshape_to_channels(x: Array, ndim: int) -> Any:
    return x.reshape((x.shape[0],) + (1,) * (ndim - 2))


def _batch_norm(call: Call) -> Any:
    """Computes BatchNorm of (x, scale, shift, mean, variance) in inference mode."""
    x = call.inputs[0]
    scale, shift, mean, variance = (_reshape_to_channels(one, x.ndim) for one in call.inputs[1:5])
    return (x - mean) * (scale / np.sqrt(variance + call.attribute("epsilon"))) + shift


def _instance_norm(call: Call, root: Root = _reciprocal_root) -> Any:
    x = call.inputs[0]
    scale, shift = (_reshape_to_channels(one, x.ndim) for one in call.inputs[1:3])
    return _normalise(x, tuple(range(2, x.ndim)), call.attribute("epsilon"), root) * scale + shift


def _softmax_from_onnx(call: Call) -> Call:
    """Returns the call unchanged; raises `InputError` for a softmax over several axes.

    Before opset 13, ONNX computes a softmax over all axes from `axis` to the last.
    """
    axis, ndim = int(call.attribute("axis")), call.inputs[0].ndim
    if call.number(ONNX_VERSION) < 13 and axis % max(ndim, 1) != ndim - 1:
        raise InputError("a softmax over several axes is not lowered", place=call.node.name)
    return call


def _norm_from_onnx(call: Call) -> Call:
    if len(call.node.outputs) > 1:
        raise InputError("its results mean and deviation are not supported", place=call.node.name)
    return call.in_form(begin_norm_axis=call.attribute("axis"))


def _batch_norm_from_onnx(call: Call) -> Call:
    if call.flag("training_mode") or len(call.node.outputs) > 1:
        raise InputError("a training step is not lowered", place=call.node.name)
    return call


OPERATORS = (
    OpInfo(
        "Softmax",
        onnx=(OnnxOperator("Softmax", _softmax_from_onnx),),
        formula=_softmax,
        traits=Trait.ROW_REDUCTION | Trait.NON_NEGATIVE,
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
        onnx=(OnnxOperator("LogSoftmax", _softmax_from_onnx),),
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
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "LayerNorm",
        onnx=(OnnxOperator("LayerNormalization", _norm_from_onnx),),
        formula=_layer_norm,
        lowering=lambda call: _layer_norm(call, _lower_reciprocal_root),
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
        onnx=(OnnxOperator("RMSNormalization", _norm_from_onnx),),
        formula=_rms_norm,
        lowering=lambda call: _rms_norm(call, _lower_reciprocal_root),
        traits=Trait.ROW_REDUCTION,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=4,
        steps=12,
        batch=BatchRule(Batch.LAST_AXIS),
    ),
    OpInfo(
        "BatchNorm",
        onnx=(OnnxOperator("BatchNormalization", _batch_norm_from_onnx),),
        formula=_batch_norm,
        traits=Trait.ROW_REDUCTION | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.PER_INPUT_ELEMENT,
        flops=4,
        steps=4,
        batch=BatchRule(Batch.BATCH_NORM),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
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
    OpInfo(
        "InstanceNormalization",
        onnx=("InstanceNormalization",),
        formula=_instance_norm,
        lowering=lambda call: _instance_norm(call, _lower_reciprocal_root),
        traits=Trait.ROW_REDUCTION,
        steps=16,
    ),
)
