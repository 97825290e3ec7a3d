"""Matches decomposed layer normalisation."""

from __future__ import annotations

from ms_fusion.rewrite import OneOf, Op, Pattern, Rule


def _subtract_mean(x: Pattern) -> Op:
    return Op("Sub", x, Op("ReduceMean", x))


def _variance(centred: Pattern) -> OneOf:
    return OneOf(
        Op("ReduceMean", Op("Pow", centred, "2.0")), Op("ReduceMean", Op("Mul", centred, centred))
    )


def _divide_by_deviation(centred: Pattern) -> OneOf:
    deviation = Op("Sqrt", Op("Add", _variance(centred), "epsilon"))
    return OneOf(Op("Div", centred, deviation), Op("Mul", centred, Op("Reciprocal", deviation)))


def scaled_norm(x: Pattern) -> Op:
    """Returns the pattern of decomposed (x − mean) / √(variance + ε) · scale."""
    return Op("Mul", _divide_by_deviation(_subtract_mean(x)), "scale")


def layer_norm(x: Pattern) -> OneOf:
    """Returns the pattern of (x − mean) / √(variance + ε) · scale + shift.

    It matches one operator, or the decomposition into up to ten.
    """
    spelled = _divide_by_deviation(_subtract_mean(x))
    return OneOf(Op("LayerNorm", x), Op("Add", scaled_norm(x), "shift"), spelled)


LAYER_NORM = Rule("LayerNorm", "intra-operator", OneOf(*layer_norm("x").patterns[1:]))
