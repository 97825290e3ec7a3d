"""A normalisation, the linear layer behind it, and its activation."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.activation import activation
from ms_fusion.rules.layer_norm import layer_norm
from ms_fusion.rules.linear import PRODUCT
from ms_fusion.rules.rms_norm import rms_norm

_NORM = OneOf(*layer_norm("x").patterns, *rms_norm("x").patterns)
_LINEAR = OneOf(Op("Add", Op(PRODUCT, _NORM, "weight"), "bias"), Op(PRODUCT, _NORM, "weight"))

LAYER_NORM_LINEAR = Rule("LayerNormLinear", "cross-operator", _LINEAR)
LAYER_NORM_LINEAR_ACTIVATION = Rule("LayerNormLinearActivation", "cross-operator", activation(_LINEAR))  # fmt: skip
