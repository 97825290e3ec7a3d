"""A matrix product with what follows it: bias, activation."""

from __future__ import annotations

from ms_fusion.rewrite import Match, OneOf, Op, Rule
from ms_fusion.rules.activation import activation

PRODUCT = "MatMul|BatchMatMul|Dense"
_LINEAR = OneOf(Op("Add", Op(PRODUCT, "x", "weight"), "bias"), Op(PRODUCT, "x", "weight"))


def _bias_is_a_row(match: Match) -> str:
    bias = match.value("bias") if "bias" in match.bound else None
    return "" if bias is None or len(bias.shape) <= 1 else "what is added is no bias"


MATMUL_BIAS_RELU = Rule(
    "MatMulBiasReLU",
    "cross-operator",
    Op("ReLU", Op("Add", Op(PRODUCT, "x", "weight"), "bias")),
    _bias_is_a_row,
)
LINEAR_ACTIVATION = Rule("LinearActivation", "cross-operator", activation(_LINEAR), _bias_is_a_row)
LINEAR_BIAS = Rule("LinearBias", "cross-operator", Op("Add", Op(PRODUCT, "x", "weight"), "bias"), _bias_is_a_row)  # fmt: skip
