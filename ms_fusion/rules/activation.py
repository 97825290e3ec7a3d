"""Matches elementwise activations, as one operator or as several basic operators."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern
from ms_fusion.rules.gelu import gelu


def silu(x: Pattern) -> OneOf:
    """Returns the pattern of SiLU, x · sigmoid(x), as one operator or as two operators."""
    return OneOf(Op("SiLU", x), Op("Mul", x, Op("Sigmoid", x)))


def activation(x: Pattern) -> OneOf:
    """Returns a pattern that matches any common activation."""
    return OneOf(
        *silu(x).patterns,
        *gelu(x).patterns,
        Op("ReLU|LeakyReLU|HSwish|HSigmoid|Elu|Selu|Softplus|Mish|Clip|PRelu", x),
        Op("Sigmoid|Tanh", x),
    )
