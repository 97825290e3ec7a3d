"""Matches a matrix product with its epilogue: bias, activation."""

from __future__ import annotations

from ms_fusion.rewrite import Match, OneOf, Op, Pattern, Rule
from ms_fusion.rules.activation import activation

PRODUCT = "MatMul|BatchMatMul|Dense"


def linear(x: Pattern) -> OneOf:
    """Returns the pattern of x · weight, with an optional bias."""
    product = Op(PRODUCT, x, "weight")
    return OneOf(Op("Add", product, "bias"), product)


def check_bias_rank(match: Match) -> str:
    """Returns the reason to refuse a bias of rank 2 or more, or "" to accept another bias."""
    added = (match.value(name) for name in match.bound if name.startswith("bias"))
    return "the added operand is not a bias" if any(len(one.shape) > 1 for one in added) else ""


_LINEAR_WITH_BIAS = Op("Add", Op(PRODUCT, "x", "weight"), "bias")

MATMUL_BIAS_RELU = Rule(
    "MatMulBiasReLU", "cross-operator", Op("ReLU", _LINEAR_WITH_BIAS), check_bias_rank
)
LINEAR_ACTIVATION = Rule(
    "LinearActivation", "cross-operator", activation(linear("x")), check_bias_rank
)
LINEAR_BIAS = Rule("LinearBias", "cross-operator", _LINEAR_WITH_BIAS, check_bias_rank)
