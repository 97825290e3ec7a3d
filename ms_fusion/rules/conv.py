"""Matches a convolution with its epilogue: batch normalisation, residual sum, activation."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.activation import activation

_CONV = Op("Conv2D|Conv2DTranspose", "x", "weight")
_NORMALISED_CONV = OneOf(Op("BatchNorm", _CONV), _CONV)
_SUM = Op("Add", _NORMALISED_CONV, "residual")

CONV_BATCH_NORM = Rule(
    "ConvBNActivation",
    "cross-operator",
    OneOf(*activation(_NORMALISED_CONV).patterns, Op("BatchNorm", _CONV)),
)
CONV_RESIDUAL = Rule("ConvResidual", "cross-operator", OneOf(*activation(_SUM).patterns, _SUM))
