"""Matches a linear layer and the following residual sum."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.linear import PRODUCT

LINEAR_RESIDUAL = Rule(
    "LinearResidual",
    "cross-operator",
    OneOf(
        Op("Add", Op("Add", Op(PRODUCT, "x", "weight"), "bias"), "residual"),
        Op("Add", Op(PRODUCT, "x", "weight"), "residual"),
    ),
)
