"""Matches GELU decomposed with erf or tanh."""

from __future__ import annotations

import math

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule
from tbe_impl.gelu_constants import CUBIC, SQRT_HALF, TANH_SCALE

_ROOT = str(math.sqrt(2))


def gelu(x: Pattern) -> OneOf:
    """Returns the pattern of GELU in two forms, in the operand orders of common exporters.

    The exact form is ½ x (1 + erf(x/√2)). The tanh form is ½ x (1 + tanh(√(2/π)(x + 0.044715 x³))).
    """
    inner = OneOf(Op("Div", x, _ROOT), Op("Mul", x, str(SQRT_HALF)))
    gate = Op("Add", Op("Erf", inner), "1.0")
    cubic = OneOf(Op("Pow", x, "3.0"), Op("Mul", x, Op("Mul", x, x)))
    tanh = Op("Mul", Op("Add", Op("Mul", cubic, str(CUBIC)), x), f"{TANH_SCALE:.7f}")
    smooth = Op("Add", Op("Tanh", tanh), "1.0")
    whole = [
        form
        for one in (gate, smooth)
        for form in (
            Op("Mul", Op("Mul", x, one), "0.5"),
            Op("Mul", Op("Mul", x, "0.5"), one),
            Op("Mul", x, Op("Mul", one, "0.5")),
        )
    ]
    return OneOf(Op("GeLU", x), *whole)


GELU = Rule("GELU", "intra-operator", OneOf(*gelu("x").patterns[1:]))
