"""Matches a normalisation, the following linear layer, and its activation."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Rule
from ms_fusion.rules.activation import activation
from ms_fusion.rules.layer_norm import layer_norm
from ms_fusion.rules.linear import linear
from ms_fusion.rules.rms_norm import rms_norm

_LINEAR = linear(OneOf(*layer_norm("x").patterns, *rms_norm("x").patterns))

LAYER_NORM_LINEAR = Rule("LayerNormLinear", "cross-operator", _LINEAR)
LAYER_NORM_LINEAR_ACTIVATION = Rule(
    "LayerNormLinearActivation", "cross-operator", activation(_LINEAR)
)
