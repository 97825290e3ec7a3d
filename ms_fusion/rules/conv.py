"""A convolution with the batch normalisation, the residual sum and the activation behind it."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.activation import activation

_CONV = Op("Conv2D|Conv2DTranspose", "x", "weight")
_NORMED = OneOf(Op("BatchNorm", _CONV), _CONV)
_SUM = Op("Add", _NORMED, "residual")

CONV_BATCH_NORM = Rule(
    "ConvBNActivation",
    "cross-operator",
    OneOf(*activation(_NORMED).patterns, Op("BatchNorm", _CONV)),
)
CONV_RESIDUAL = Rule("ConvResidual", "cross-operator", OneOf(*activation(_SUM).patterns, _SUM))
