"""Matches scaled dot-product attention: softmax(q kᵀ · scale + mask) v."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule
from ms_fusion.rules.linear import PRODUCT
from ms_fusion.rules.softmax import SOFTMAX_AXIS, masked_softmax


def attention(q: Pattern, k: Pattern, v: Pattern) -> OneOf:
    """Returns the pattern of a matrix product, a softmax of its scores, and a second product.

    The scores may be scaled and masked.
    """
    scores = Op(PRODUCT, q, k)
    plain = Op("Softmax", scores, check=SOFTMAX_AXIS)
    return OneOf(Op(PRODUCT, masked_softmax(scores), v), Op(PRODUCT, plain, v))


ATTENTION = Rule("Attention", "pipeline", attention("q", "k", "v"))
