"""Lowering rules: each basic operator of MindSpore as DSL operations.

Most are the formulas of `ms_fusion.accuracy.formulas`, run once on traced tensors: what a kernel computes and what it is
held against have one source. Where the language has a word that is better than the formula, it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ms_fusion.accuracy.activations import gelu_gradient
from ms_fusion.accuracy.formulas import FORMULAS, Call, bias_gradient_axes
from ms_fusion.kernel_server import pooling, resizing
from tbe_impl import dsl
from tbe_impl.tracing.arrays import Traced, tensor_of

Meaning = Callable[[Call], Any]


def _word(word: Any) -> Meaning:
    """A word of tensors of one shape and dtype."""
    return lambda call: Traced(word(*(tensor_of(item) for item in call.inputs)))


def _cast(call: Call) -> Any:
    return call.inputs[0].astype(call.output.dtype)


def _reduction(word: Any) -> Meaning:
    """Over the axes that are named, or all of them; sums of narrow floats and of truth values are wide."""

    def meaning(call: Call) -> Any:
        x = tensor_of(call.inputs[0])
        named = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
        axes = sorted({axis % max(x.ndim, 1) for axis in named or range(x.ndim)})
        if not axes:
            return call.inputs[0]
        # a flag that stands among the inputs may be there without its value
        return Traced(word(x, axes, keepdims=len(call.output.shape) == x.ndim))

    return meaning


def _bias_gradient(call: Call) -> Any:
    x = tensor_of(call.inputs[0])
    axes = bias_gradient_axes(call.node, x.ndim)
    return Traced(dsl.reduce_sum(x, list(axes))) if axes else call.inputs[0]


def _mean(call: Call) -> Any:
    total = _reduction(dsl.reduce_sum)(call)
    return total * (total.size / call.inputs[0].size)


def _quotient(call: Call) -> Any:
    x, y = call.inputs
    whole = all(item.dtype.kind in "iub" for item in call.inputs)
    return x.astype(np.float32) / y.astype(np.float32) if whole else x / y


def _gelu_gate(x: Any) -> Traced:
    return Traced(dsl.ext.ndtr_tanh(tensor_of(x)))


def _power(call: Call) -> Any:
    """Of integers by squares and products, which wrap around; to an exponent below 0 as the quotient cut toward 0."""
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


def _triangle(*, lower: bool) -> Meaning:
    def meaning(call: Call) -> Any:
        x, diagonal = tensor_of(call.inputs[0]), int(call.number("diagonal", 1))

        def element(*at: Any) -> Any:
            above = at[-1] - at[-2] - diagonal
            return dsl.select(above <= 0 if lower else above >= 0, x(*at), dsl.const(0, x.dtype))

        return Traced(dsl.compute(x.shape, element, "triangle"))

    return meaning


def _reversed(call: Call) -> Any:
    x = tensor_of(call.inputs[0])
    # a number is one element to MindSpore, which has an axis
    axes = {axis % max(x.ndim, 1) for axis in call.integers("axis", 1) or ()}

    def element(*at: Any) -> Any:
        return x(*(x.shape[axis] - 1 - i if axis in axes else i for axis, i in enumerate(at)))

    return Traced(dsl.compute(x.shape, element, "reversed"))


_OWN: Mapping[str, Meaning] = {
    "Rsqrt": _word(dsl.vrsqrt),
    "Pow": _power,
    "Erf": _word(dsl.ext.erf),
    "Erfc": _word(dsl.ext.erfc),
    "Sigmoid": _word(dsl.ext.sigmoid),
    "SiLU": lambda call: call.inputs[0] * _word(dsl.ext.sigmoid)(call),
    "GeLU": _word(lambda x: dsl.vmul(x, dsl.ext.ndtr_tanh(x))),
    "Mish": _word(lambda x: dsl.vmul(x, dsl.ext.tanh_softplus(x))),
    "GeLUGrad": lambda call: gelu_gradient(*call.inputs[:2], gate_of=_gelu_gate),
    "Tril": _triangle(lower=True),
    "Triu": _triangle(lower=False),
    "ReverseV2": _reversed,
    "Cast": _cast,
    "Div": _quotient,
    "BiasAddGrad": _bias_gradient,
    "ReduceSum": _reduction(dsl.reduce_sum),
    "ReduceMax": _reduction(dsl.reduce_max),
    "ReduceMin": _reduction(dsl.reduce_min),
    "ReduceProd": _reduction(dsl.reduce_prod),
    "ReduceAll": _reduction(dsl.reduce_all),
    "ReduceAny": _reduction(dsl.reduce_any),
    "ReduceMean": _mean,
    **dict.fromkeys(("MaxPool", "MaxPool3D"), pooling.max_pool),
    **dict.fromkeys(("MaxPoolGrad", "MaxPool3DGrad"), pooling.max_pool_gradient),
    **dict.fromkeys(("AvgPool", "AvgPool3D"), pooling.average_pool),
    **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), pooling.average_pool_gradient),
    "AdaptiveAvgPool2D": resizing.share_means,
    "AdaptiveAvgPool2DGrad": resizing.gradient_of_share_means,
    "ResizeNearestNeighbor": resizing.nearest,
    "ResizeNearestNeighborGrad": resizing.gradient_of_nearest,
}

MEANINGS: Mapping[str, Meaning] = MappingProxyType({**FORMULAS, **_OWN})
"""Operator type → what it is in the language."""
