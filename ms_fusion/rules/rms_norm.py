"""Matches decomposed root mean square normalisation."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule


def rms_norm(x: Pattern) -> OneOf:
    """Returns the pattern of x / √(mean(x²) + ε) · scale.

    It matches one operator, or the decomposition into up to six.
    """
    power = OneOf(Op("ReduceMean", Op("Pow", x, "2.0")), Op("ReduceMean", Op("Mul", x, x)))
    root = Op("Sqrt", Op("Add", power, "epsilon"))
    unit = OneOf(
        Op("Div", x, root),
        Op("Mul", x, Op("Reciprocal", root)),
        Op("Mul", x, Op("Div", "1.0", root)),
    )
    return OneOf(Op("RmsNorm", x), Op("Mul", unit, "scale"), unit)


RMS_NORM = Rule("RMSNorm", "intra-operator", OneOf(*rms_norm("x").patterns[1:]))
