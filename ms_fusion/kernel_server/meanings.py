"""Each basic operator of MindSpore said in the language.

Most are the formulas of `ms_fusion.accuracy.formulas`, run once on traced tensors: what a kernel computes and what it is
held against have one source. Where the language has a word that is better than the formula, it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ms_fusion.accuracy.formulas import FORMULAS, Call
from ms_fusion.kernel_server import pooling, resizing
from tbe_impl import dsl
from tbe_impl.dsl.traced import Traced, tensor_of

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
        return Traced(word(x, axes, keepdims=call.flag("keep_dims", 2)))

    return meaning


def _mean(call: Call) -> Any:
    total = _reduction(dsl.reduce_sum)(call)
    return total * (total.size / call.inputs[0].size)


def _quotient(call: Call) -> Any:
    x, y = call.inputs
    whole = all(item.dtype.kind in "iub" for item in call.inputs)
    return x.astype(np.float32) / y.astype(np.float32) if whole else x / y


_OWN: Mapping[str, Meaning] = {
    "Rsqrt": _word(dsl.vrsqrt),
    "Erf": _word(dsl.ext.erf),
    "Erfc": _word(dsl.ext.erfc),
    "Sigmoid": _word(dsl.ext.sigmoid),
    "SiLU": lambda call: call.inputs[0] * _word(dsl.ext.sigmoid)(call),
    "GeLU": _word(lambda x: dsl.vmul(x, dsl.ext.ndtr_tanh(x))),
    "Mish": _word(lambda x: dsl.vmul(x, dsl.ext.tanh_softplus(x))),
    "Cast": _cast,
    "Div": _quotient,
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
