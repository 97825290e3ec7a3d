"""Matches elementwise activations, as one operator or decomposed."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern
from ms_fusion.rules.gelu import gelu


def silu(x: Pattern) -> OneOf:
    """x · sigmoid(x)."""
    return OneOf(Op("SiLU", x), Op("Mul", x, Op("Sigmoid", x)))


def activation(x: Pattern) -> OneOf:
    """Any common activation."""
    return OneOf(
        *silu(x).patterns,
        *gelu(x).patterns,
        Op("ReLU|LeakyReLU|HSwish|HSigmoid|Elu|Selu|Softplus|Mish|Clip|PRelu", x),
        Op("Sigmoid|Tanh", x),
    )
