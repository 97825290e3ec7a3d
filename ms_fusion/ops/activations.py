"""Activation functions and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ms_fusion.ops.call import (
    Array,
    Call,
    nary,
    pointwise,
    unary,
)
from ms_fusion.ops.dsl_rules import dsl_operation
from ms_fusion.ops.late_imports import arrays, dsl, np
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    ELEMENTWISE,
    EXP_CAUTION,
    SINGLE_AND_HALF,
    SINGLE_HALF_AND_INT32,
    Advice,
    Expand,
    MindSporeFusion,
    MindSporeGenerator,
    OnnxOperator,
    OpInfo,
    Split,
    Trait,
    VerifiedFlag,
    WorkRule,
    elementwise,
)
from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE, TANH_SCALE


def _gelu(call: Call) -> Array:
    """Computes GeLU in its tanh form, or exactly if the attribute `approximate` is ``none``."""
    x = call.inputs[0]
    if _is_exact_gelu(call):
        return 0.5 * x * (1 + pointwise(math.erf)(call.in_form(inputs=(x * math.sqrt(0.5),))))
    return 0.5 * x * (1 + np.tanh(TANH_SCALE * (x + CUBIC * x**3)))


def _is_exact_gelu(call: Call) -> bool:
    return bool(call.node.attr("approximate") == "none")


def _lower_gelu(call: Call) -> Any:
    gate = dsl.ext.ndtr if _is_exact_gelu(call) else dsl.ext.ndtr_tanh
    return dsl_operation(lambda x: dsl.vmul(x, gate(x)))(call)


def _clip(x: Array, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _clip_to_bounds(call: Call) -> Any:
    """Clips the first operand; each bound is an operand, an attribute (old opsets) or absent."""
    x = call.inputs[0]
    for function, name, position in ((np.maximum, "min", 1), (np.minimum, "max", 2)):
        bound = call.optional_input(position)
        bound = call.node.attr(name) if bound is None else bound
        x = x if bound is None else function(x, bound)
    return x


def _hard_sigmoid(call: Call) -> Any:
    """Computes clip(alpha · x + beta, 0, 1), by default with alpha = 1 / 6 and beta = 0.5."""
    x, alpha = call.inputs[0], call.node.attr("alpha")
    scaled = x / 6 if alpha is None else x * alpha
    return _clip(scaled + call.number("beta", default=0.5), 0, 1)


def _hard_swish_gradient(dy: Array, x: Array) -> Any:
    inner = np.where(x >= 3, dy, dy * (x / 3 + 0.5))
    return np.where(x <= -3, 0 * dy, inner)


def _elu(x: Array, alpha: float) -> Any:
    below = np.expm1(np.minimum(x, 0))
    return np.where(x > 0, x, below if alpha == 1.0 else alpha * below)


def _selu(call: Call) -> Any:
    alpha = call.number("alpha", default=1.67326324)
    return call.number("gamma", default=1.05070098) * _elu(call.inputs[0], alpha)


def _scale_negatives(x: Array, slope: Any) -> Any:
    return np.where(x < 0, x * slope, x)


def _thresholded_relu(call: Call) -> Any:
    x = call.inputs[0]
    return np.where(x > call.attribute("alpha"), x, 0.0 * x)


def _swish(call: Call, gate: Callable[[Any], Any]) -> Any:
    """Computes x · gate(alpha · x); alpha is 1 if the operator has no attribute alpha."""
    x, alpha = call.inputs[0], call.number("alpha", default=1.0)
    return x * gate(x if alpha == 1.0 else x * alpha)


def sigmoid(x: Array) -> Any:
    """Computes 1 / (1 + e^−x)."""
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Any:
    """Computes ln(1 + e^x)."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _fast_gelu_gradient(dy: Array, x: Array) -> Any:
    gate = sigmoid(1.702 * x)
    return dy * (gate + _clip(1.702 * x, -100, 100) * gate * (1 - gate))


def _gelu_gate(x: Array) -> Any:
    return sigmoid(SIGMOID_SCALE * (x + CUBIC * x * x * x))


def gelu_gradient(
    dy: Array, x: Array, *_: Array, gate_of: Callable[[Any], Any] = _gelu_gate
) -> Any:
    """Computes the gradient of GeLU in its tanh form.

    x is clipped to ±20, since x² may overflow. Beyond ±20 the derivative is 0 or 1.

    Args:
        dy: gradient of the result y of GeLU.
        x: input of GeLU.
        gate_of: function that computes y / x from x. The default is the tanh formula; a caller may
            pass a DSL operation instead.
    """
    inner = _clip(x, -20, 20)
    gate = gate_of(inner)
    slope = SIGMOID_SCALE * (1 + 3 * CUBIC * inner * inner)
    return dy * (gate + inner * slope * gate * (1 - gate))


def _lower_gelu_gate(x: Any) -> Any:
    return arrays.TracedArray(dsl.ext.ndtr_tanh(arrays.tensor_of(x)))


def _lower_sigmoid(x: Any) -> Any:
    return arrays.TracedArray(dsl.ext.sigmoid(arrays.tensor_of(x)))


OPERATORS = (
    elementwise(
        "ReLU",
        onnx=("Relu",),
        formula=nary(lambda x: np.maximum(x, 0)),
        traits=Trait.NON_NEGATIVE | Trait.IDENTITY_ON_NON_NEGATIVE,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, expansion=("Maximum",)),
    ),
    elementwise(
        "ReLU6",
        formula=nary(lambda x: _clip(x, 0, 6)),
        traits=Trait.ANY_LAYOUT,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(
            rewriting="ops.minimum(ops.maximum(x, 0.0), 6.0)",
            rewriting_operators=("Maximum", "Minimum"),
        ),
    ),
    OpInfo(
        "ReluGrad",
        work=WorkRule.ELEMENTWISE,
        flops=1,
        mindspore=MindSporeFusion(
            expand=Expand.BY_FLAG_FOR_OURS, basics=2, split=Split.ENDS_IN_BROADCAST
        ),
        mindspore_generator=MindSporeGenerator(auto_expand="exact"),
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    OpInfo("ReLUGrad", work=WorkRule.ELEMENTWISE, flops=1),
    OpInfo(
        "ReLU6Grad",
        formula=nary(lambda dy, x: np.where((x > 0) & (x < 6), dy, 0 * dy)),
        traits=Trait.ANY_LAYOUT,
        work=WorkRule.ELEMENTWISE,
        flops=2,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "HSigmoid",
        onnx=("HardSigmoid",),
        formula=_hard_sigmoid,
        traits=Trait.ANY_LAYOUT | Trait.NON_NEGATIVE,
        flops=4,
        steps=4,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG, basics=4),
        mindspore_generator=MindSporeGenerator(
            not_auto="1 → 32,800 ULP near 0, where it cancels", for_speed=True
        ),
        whole=True,
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    OpInfo(
        "HSigmoidGrad",
        formula=nary(lambda dy, x: np.where((x > -3) & (x < 3), dy / 6, 0 * dy)),
        traits=Trait.ANY_LAYOUT,
        work=WorkRule.ELEMENTWISE,
        flops=3,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "HSwish",
        onnx=(OnnxOperator("HardSwish", lambda call: call.in_form(alpha=1 / 6)),),
        # the maximum prevents NaN at x = −∞
        formula=lambda call: np.maximum(call.inputs[0], -3) * _hard_sigmoid(call),
        traits=Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE,
        flops=5,
        steps=5,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG, basics=5),
        mindspore_generator=MindSporeGenerator(not_auto="1.9 → 2.3 ULP", for_speed=True),
        whole=True,
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    OpInfo(
        "HSwishGrad",
        formula=nary(_hard_swish_gradient),
        traits=Trait.ANY_LAYOUT,
        work=WorkRule.ELEMENTWISE,
        flops=5,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "Elu",
        onnx=("Elu",),
        formula=lambda call: _elu(call.inputs[0], call.number("alpha", default=1.0)),
        traits=Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE | Trait.IDENTITY_ON_NON_NEGATIVE,
        flops=12,
        steps=26,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    *(
        OpInfo(name, batch=ELEMENTWISE)
        for name in """EluExt SeLUExt SoftplusExt GeluExt LeakyReLUExt PReLU
        LogSigmoidExt""".split()
    ),
    elementwise(
        "LogSigmoid",
        formula=unary(lambda x: -softplus(-x)),
        traits=Trait.NO_CPU_KERNEL,  # `ops.logsigmoid`, `nn.LogSigmoid` consist of basic operators
        flops=22,
    ),
    OpInfo(
        "LogSigmoidGrad",
        formula=nary(lambda dy, x, *_: dy * sigmoid(-x)),
        traits=Trait.NO_CPU_KERNEL,
        work=WorkRule.ELEMENTWISE,
        flops=17,
    ),
    OpInfo(
        "PRelu",
        onnx=("PRelu",),
        formula=nary(_scale_negatives),
        traits=Trait.IDENTITY_ON_NON_NEGATIVE,
    ),
    OpInfo("ThresholdedRelu", onnx=("ThresholdedRelu",), formula=_thresholded_relu),
    OpInfo("Clip", onnx=("Clip",), formula=_clip_to_bounds),
    OpInfo(
        "EluGrad",
        formula=nary(lambda dy, y: np.where(y > 0, dy, dy * (y + 1))),
        traits=Trait.ANY_LAYOUT,
        work=WorkRule.ELEMENTWISE,
        flops=3,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "SeLU",
        onnx=("Selu",),
        formula=_selu,
        steps=26,
        batch=ELEMENTWISE,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "Sigmoid",
        onnx=("Sigmoid",),
        formula=unary(sigmoid),
        lowering=dsl_operation(dsl.ext.sigmoid),
        traits=Trait.ANY_LAYOUT | Trait.NON_NEGATIVE,
        flops=16,
        steps=18,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG, basics=4),
        mindspore_generator=MindSporeGenerator(
            not_auto="through Exp: 64 → 1,400 ULP", for_speed=True
        ),
        whole=True,
        advice=Advice(expand_flag=VerifiedFlag(caution=EXP_CAUTION)),
    ),
    OpInfo(
        "SigmoidGrad",
        work=WorkRule.ELEMENTWISE,
        flops=3,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG_FOR_OURS, basics=3),
        mindspore_generator=MindSporeGenerator(auto_expand="1.9 → 1.9 ULP"),
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    elementwise(
        "SiLU",
        onnx=("Swish",),
        formula=lambda call: _swish(call, sigmoid),
        lowering=lambda call: _swish(call, _lower_sigmoid),
        traits=Trait.ANY_LAYOUT,
        flops=17,
        steps=19,
        mindspore=MindSporeFusion(
            expand=Expand.BY_FLAG,
            expansion=("Sigmoid", "Mul"),
        ),
        mindspore_generator=MindSporeGenerator(
            not_auto="through Exp: 64 → 1,450 ULP", for_speed=True
        ),
        whole=True,
        advice=Advice(no_flag="reaches the compiler as Sigmoid and Mul: enable Sigmoid"),
    ),
    OpInfo("SiLUGrad", work=WorkRule.ELEMENTWISE, flops=20),
    elementwise("Swish", flops=17),
    elementwise(
        "Softplus",
        onnx=("Softplus",),
        formula=unary(softplus),
        traits=Trait.FLOAT32_ONLY_ON_CPU | Trait.NON_NEGATIVE,
        flops=21,
        steps=40,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=7),
        mindspore_generator=MindSporeGenerator(inaccurate_expansion="through Exp and Log"),
        whole=True,
        advice=Advice(caution=EXP_CAUTION),
    ),
    OpInfo(
        "SoftplusGrad",
        formula=nary(lambda dy, x: dy * sigmoid(x)),
        traits=Trait.FLOAT32_ONLY_ON_CPU,
        work=WorkRule.ELEMENTWISE,
        flops=16,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=4),
        mindspore_generator=MindSporeGenerator(inaccurate_expansion="through Exp"),
        whole=True,
        advice=Advice(caution=EXP_CAUTION),
    ),
    elementwise(
        "Softsign",
        onnx=("Softsign",),
        formula=nary(lambda x: x / (1 + np.abs(x))),
        flops=6,
        steps=12,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        advice=Advice(
            rewriting="x / (ops.abs(x) + 1.0)",
            rewriting_operators=("Abs", "Add", "Div"),
        ),
    ),
    elementwise(
        "GeLU",
        onnx=("Gelu",),
        formula=_gelu,
        lowering=_lower_gelu,
        flops=18,
        steps=22,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=9),
        mindspore_generator=MindSporeGenerator(
            inaccurate_expansion=(
                "its expansion contains Tanh, which is less accurate: 1.1 → 11 ULP on edge values"
            )
        ),
        whole=True,
        advice=Advice(caution=EXP_CAUTION),
    ),
    OpInfo(
        "GeLUGrad",
        formula=nary(gelu_gradient),
        lowering=lambda call: gelu_gradient(*call.inputs[:2], gate_of=_lower_gelu_gate),
        work=WorkRule.ELEMENTWISE,
        flops=30,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, basics=19),
        mindspore_generator=MindSporeGenerator(inaccurate_expansion="through Tanh"),
        whole=True,
        advice=Advice(caution=EXP_CAUTION),
    ),
    elementwise(
        "FastGeLU",
        formula=nary(lambda x: x * sigmoid(1.702 * x)),
        flops=19,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG, basics=9),
        mindspore_generator=MindSporeGenerator(not_auto="through Exp", for_speed=True),
        whole=True,
        advice=Advice(expand_flag=VerifiedFlag(caution=EXP_CAUTION)),
    ),
    OpInfo(
        "FastGeLUGrad",
        formula=nary(_fast_gelu_gradient),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "Mish",
        onnx=("Mish",),
        formula=nary(lambda x: x * np.tanh(softplus(x))),
        lowering=dsl_operation(lambda x: dsl.vmul(x, dsl.ext.tanh_softplus(x))),
        traits=Trait.FLOAT32_ONLY_ON_CPU | Trait.ANY_LAYOUT,
        flops=32,
        steps=70,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    elementwise(
        "LeakyReLU",
        onnx=("LeakyRelu",),
        formula=lambda call: _scale_negatives(call.inputs[0], call.attribute("alpha")),
        traits=Trait.KEEPS_NON_NEGATIVE | Trait.IDENTITY_ON_NON_NEGATIVE,
        flops=2,
        steps=2,
    ),
)
