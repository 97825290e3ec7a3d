"""A matrix product with what follows it: bias, activation."""

from __future__ import annotations

from ms_fusion.rewrite import Match, OneOf, Op, Pattern, Rule
from ms_fusion.rules.activation import activation

PRODUCT = "MatMul|BatchMatMul|Dense"


def linear(x: Pattern) -> OneOf:
    """x · weight, with its bias where there is one."""
    product = Op(PRODUCT, x, "weight")
    return OneOf(Op("Add", product, "bias"), product)


def bias_is_a_row(match: Match) -> str:
    """What speaks against a value that is added as a bias."""
    added = (match.value(name) for name in match.bound if name.startswith("bias"))
    return "what is added is no bias" if any(len(one.shape) > 1 for one in added) else ""


_BIASED = Op("Add", Op(PRODUCT, "x", "weight"), "bias")

MATMUL_BIAS_RELU = Rule("MatMulBiasReLU", "cross-operator", Op("ReLU", _BIASED), bias_is_a_row)
LINEAR_ACTIVATION = Rule(
    "LinearActivation", "cross-operator", activation(linear("x")), bias_is_a_row
)
LINEAR_BIAS = Rule("LinearBias", "cross-operator", _BIASED, bias_is_a_row)
