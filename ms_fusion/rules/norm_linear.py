"""A normalisation and the linear layer behind it."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.layer_norm import layer_norm
from ms_fusion.rules.linear import PRODUCT
from ms_fusion.rules.rms_norm import rms_norm

_NORM = OneOf(*layer_norm("x").patterns, *rms_norm("x").patterns)

LAYER_NORM_LINEAR = Rule(
    "LayerNormLinear",
    "cross-operator",
    OneOf(Op("Add", Op(PRODUCT, _NORM, "weight"), "bias"), Op(PRODUCT, _NORM, "weight")),
)
