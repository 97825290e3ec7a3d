"""Operators that CANN does not build as one kernel of the TBE DSL, and why: on Ascend they run as basic operators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_CHAINED = (
    "two products, of x and of the weights, are two kernels of the cube; the TBE DSL schedules one"
)
_PROLOGUE = "the TBE DSL puts vector words behind a product of the cube, but not before it"

WITHOUT_TBE: Mapping[str, str] = MappingProxyType({
    "BiasDropoutAdd": "its random numbers are counted in 32-bit integers that wrap around, which vector words of CANN lack",
    "LayerNormLinear": _PROLOGUE,
    "LayerNormLinearWithoutBias": _PROLOGUE,
    "LinearCrossEntropy": "it is a loop over chunks of rows with a product in each, and a kernel of the TBE DSL has no loop",
    "MaskedScaledDotProductAttention": "two products with a running softmax between them; the TBE DSL schedules one product",
    "NMS": "each box that is kept depends on those before, and no word of CANN goes on from its own results",
    "ScaledDotProductAttention": "two products with a running softmax between them; the TBE DSL schedules one product",
})  # fmt: skip
"""Operator → why there is none forward; none backward either."""
_PRODUCTS = (
    "Conv2d Conv2dBias Conv2dBiasLeakyReLU Conv2dBiasReLU Conv2dBiasSiLU LinearResidual LinearResidualWithoutBias MatMul MatMulBias "
    "MatMulBiasGELU MatMulBiasReLU MatMulBiasSiLU MatMulGELU MatMulReLU MatMulSiLU"
)
WITHOUT_TBE_GRADIENT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(_PRODUCTS.split(), _CHAINED)
)
"""Operator that has one forward → why there is none backward."""
