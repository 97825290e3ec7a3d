"""A convolution with the batch normalisation and the activation behind it."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.activation import activation

_CONV = Op("Conv2D", "x", "weight")
_NORMED = OneOf(Op("BatchNorm", _CONV), _CONV)

CONV_BATCH_NORM = Rule(
    "ConvBNActivation", "cross-operator", OneOf(*activation(_NORMED).patterns, Op("BatchNorm", _CONV))
)  # fmt: skip
