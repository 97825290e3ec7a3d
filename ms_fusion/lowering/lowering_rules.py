"""Lowering rules: each basic operator of MindSpore as DSL operations.

Most rules trace the formulas of `ms_fusion.accuracy.formulas`, so that one source defines both a
kernel and its reference. `_OWN_RULES` holds a separate rule where a DSL operation gives better code
than the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ms_fusion.accuracy.activations import gelu_gradient
from ms_fusion.accuracy.formulas import FORMULAS, Call, bias_gradient_axes
from ms_fusion.lowering import pooling, resizing
from tbe_impl import dsl
from tbe_impl.tracing.arrays import TracedArray, tensor_of

LoweringRule = Callable[[Call], Any]


def _operation_rule(word: Any) -> LoweringRule:
    """Returns a rule that applies one DSL operation to all operands.

    They have one shape and dtype.
    """
    return lambda call: TracedArray(word(*(tensor_of(item) for item in call.inputs)))


def _cast(call: Call) -> Any:
    return call.inputs[0].astype(call.output.dtype)


def _reduction_rule(word: Any) -> LoweringRule:
    """Returns a rule that reduces over the given axes, or over all axes if none are given.

    Sums of float16, bfloat16 and bool accumulate in a wider dtype.
    """

    def meaning(call: Call) -> Any:
        x = tensor_of(call.inputs[0])
        named = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
        axes = sorted({axis % max(x.ndim, 1) for axis in named or range(x.ndim)})
        if not axes:
            return call.inputs[0]
        # `keep_dims` may be an input without a known value. The rank of the output tells its value.
        return TracedArray(word(x, axes, keepdims=len(call.output.shape) == x.ndim))

    return meaning


def _bias_gradient(call: Call) -> Any:
    x = tensor_of(call.inputs[0])
    axes = bias_gradient_axes(call.node, x.ndim)
    return TracedArray(dsl.reduce_sum(x, list(axes))) if axes else call.inputs[0]


def _reduce_mean(call: Call) -> Any:
    total = _reduction_rule(dsl.reduce_sum)(call)
    return total * (total.size / call.inputs[0].size)


def _divide(call: Call) -> Any:
    x, y = call.inputs
    whole = all(item.dtype.kind in "iub" for item in call.inputs)
    return x.astype(np.float32) / y.astype(np.float32) if whole else x / y


def _gelu_gate(x: Any) -> TracedArray:
    return TracedArray(dsl.ext.ndtr_tanh(tensor_of(x)))


def _power(call: Call) -> Any:
    """Computes a power of integers by repeated squaring, with wrap-around.

    A negative exponent gives the quotient 1 / xⁿ, truncated to an integer. Other dtypes use the
    formula.
    """
    x, y = call.inputs
    if x.dtype.kind not in "iu":
        return FORMULAS["Pow"](call)
    steps, least = 8 * x.dtype.itemsize, np.iinfo(x.dtype).min if x.dtype.itemsize > 2 else 0
    if isinstance(y, np.ndarray) and y.size == 1 and y >= 0:
        steps = max(int(y).bit_length(), 1)
    power, base, left = x * 0 + 1, x, np.maximum(y, 0)
    for _ in range(steps):
        power = np.where(left % 2 != 0, power * base, power)
        base, left = base * base, left // 2
    if x.dtype.kind == "u":
        return power
    sign = np.where(y % 2 != 0, x, 1)
    below = np.where(abs(x) == 1, sign, np.where(x == 0, least, 0))
    return np.where(y < 0, below, power)


def _triangle_rule(*, lower: bool) -> LoweringRule:
    def meaning(call: Call) -> Any:
        x, diagonal = tensor_of(call.inputs[0]), int(call.number("diagonal", 1))

        def element(*at: Any) -> Any:
            above = at[-1] - at[-2] - diagonal
            return dsl.select(above <= 0 if lower else above >= 0, x(*at), dsl.const(0, x.dtype))

        return TracedArray(dsl.compute(x.shape, element, "triangle"))

    return meaning


def _reverse(call: Call) -> Any:
    x = tensor_of(call.inputs[0])
    # MindSpore passes axis 0 for a scalar, but a DSL scalar has no axes.
    axes = {axis % max(x.ndim, 1) for axis in call.integers("axis", 1) or ()}

    def element(*at: Any) -> Any:
        return x(*(x.shape[axis] - 1 - i if axis in axes else i for axis, i in enumerate(at)))

    return TracedArray(dsl.compute(x.shape, element, "reversed"))


_OWN_RULES: Mapping[str, LoweringRule] = {
    "Rsqrt": _operation_rule(dsl.vrsqrt),
    "Pow": _power,
    "Erf": _operation_rule(dsl.ext.erf),
    "Erfc": _operation_rule(dsl.ext.erfc),
    "Sigmoid": _operation_rule(dsl.ext.sigmoid),
    "SiLU": lambda call: call.inputs[0] * _operation_rule(dsl.ext.sigmoid)(call),
    "GeLU": _operation_rule(lambda x: dsl.vmul(x, dsl.ext.ndtr_tanh(x))),
    "Mish": _operation_rule(lambda x: dsl.vmul(x, dsl.ext.tanh_softplus(x))),
    "GeLUGrad": lambda call: gelu_gradient(*call.inputs[:2], gate_of=_gelu_gate),
    "Tril": _triangle_rule(lower=True),
    "Triu": _triangle_rule(lower=False),
    "ReverseV2": _reverse,
    "Cast": _cast,
    "Div": _divide,
    "BiasAddGrad": _bias_gradient,
    "ReduceSum": _reduction_rule(dsl.reduce_sum),
    "ReduceMax": _reduction_rule(dsl.reduce_max),
    "ReduceMin": _reduction_rule(dsl.reduce_min),
    "ReduceProd": _reduction_rule(dsl.reduce_prod),
    "ReduceAll": _reduction_rule(dsl.reduce_all),
    "ReduceAny": _reduction_rule(dsl.reduce_any),
    "ReduceMean": _reduce_mean,
    **dict.fromkeys(("MaxPool", "MaxPool3D"), pooling.max_pool),
    **dict.fromkeys(("MaxPoolGrad", "MaxPool3DGrad"), pooling.max_pool_gradient),
    **dict.fromkeys(("AvgPool", "AvgPool3D"), pooling.average_pool),
    **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), pooling.average_pool_gradient),
    "AdaptiveAvgPool2D": resizing.adaptive_average_pool,
    "AdaptiveAvgPool2DGrad": resizing.adaptive_average_pool_gradient,
    "ResizeNearestNeighbor": resizing.resize_nearest,
    "ResizeNearestNeighborGrad": resizing.resize_nearest_gradient,
}

LOWERING_RULES: Mapping[str, LoweringRule] = MappingProxyType({**FORMULAS, **_OWN_RULES})
"""Operator type → its lowering rule."""
