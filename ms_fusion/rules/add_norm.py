"""Matches a residual sum and the following normalisation."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.layer_norm import layer_norm
from ms_fusion.rules.rms_norm import rms_norm

_SUM = Op("Add", "x", "residual")

ADD_LAYER_NORM = Rule(
    "AddLayerNorm", "intra-operator", OneOf(*layer_norm(_SUM).patterns, *rms_norm(_SUM).patterns)
)
