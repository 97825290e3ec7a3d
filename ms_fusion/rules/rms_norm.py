"""Matches decomposed root mean square normalisation."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule
from ms_fusion.rules.last_axes import is_over_last_axes

_MEAN = is_over_last_axes("the mean of the squares")


def rms_norm(x: Pattern) -> OneOf:
    """Returns the pattern of x / √(mean(x²) + ε) · scale.

    The pattern matches one operator, or a decomposition into up to six operators.
    """
    power = OneOf(
        Op("ReduceMean", Op("Pow", x, "2.0"), check=_MEAN),
        Op("ReduceMean", Op("Mul", x, x), check=_MEAN),
    )
    shifted = Op("Add", power, "epsilon")
    root = Op("Sqrt", shifted)
    unit = OneOf(
        Op("Div", x, root),
        Op("Mul", x, Op("Reciprocal", root)),
        Op("Mul", x, Op("Div", "1.0", root)),
        Op("Mul", x, Op("Rsqrt", shifted)),
    )
    return OneOf(Op("RmsNorm", x), Op("Mul", unit, "scale"), unit)


RMS_NORM = Rule("RMSNorm", "intra-operator", OneOf(*rms_norm("x").patterns[1:]))
