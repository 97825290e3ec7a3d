"""Scaled dot-product attention: softmax(q kᵀ · scale + mask) v."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.linear import PRODUCT
from ms_fusion.rules.softmax import masked_softmax

_SCORES = Op(PRODUCT, "q", "k")

ATTENTION = Rule(
    "Attention",
    "pipeline",
    OneOf(Op(PRODUCT, masked_softmax(_SCORES), "v"), Op(PRODUCT, Op("Softmax", _SCORES), "v")),
)
