"""Operators that CANN does not build as kernels of the TBE DSL, and why: on Ascend they run as basic operators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_STREAMED = (
    "its softmax runs along with two products, a block of keys at a time, so that no matrix of weights is held; a kernel of the "
    "TBE DSL has one product and no loop, and as kernels in a row it is what its composite is"
)
WITHOUT_TBE: Mapping[str, str] = MappingProxyType({
    "LinearCrossEntropy": "it is a loop over chunks of rows with a product in each, and a kernel of the TBE DSL has no loop",
    "MaskedScaledDotProductAttention": _STREAMED,
    "NMS": "each box that is kept depends on those before, and no word of CANN goes on from its own results",
    "ScaledDotProductAttention": _STREAMED,
})  # fmt: skip
"""Operator → why there is none, forward or backward. Every other one has both."""
