"""Matches decomposed layer normalisation."""

from __future__ import annotations

from ms_fusion.graph import Graph, Node
from ms_fusion.rewrite import OneOf, Op, Pattern, Rule, number_of
from ms_fusion.rules.last_axes import is_over_last_axes

_MEAN = is_over_last_axes("the mean")
_VARIANCE = is_over_last_axes("the variance")


def _subtract_mean(x: Pattern) -> Op:
    return Op("Sub", x, Op("ReduceMean", x, check=_MEAN))


def _variance(centred: Pattern) -> OneOf:
    squares = OneOf(Op("Pow", centred, "2.0"), Op("Mul", centred, centred))
    total = Op("ReduceSum", squares, check=_VARIANCE)
    return OneOf(
        Op("ReduceMean", squares, check=_VARIANCE),
        Op("Div", total, "count", check=_divides_by_count),
    )


def _divides_by_count(node: Node, graph: Graph) -> str:
    """Checks that the division of a sum computes a mean; returns "", or the reason why it does not.

    The divisor must be the number of terms of the sum. For example, an unbiased variance is not a
    mean, because its divisor is smaller by 1. If a size is unknown, or the divisor is no constant,
    the result is "".
    """
    total, divisor = graph.values[node.inputs[0]], number_of(graph.values[node.inputs[1]])
    terms = graph.values[graph.producers[total.name].inputs[0]]
    if divisor is None or terms.is_dynamic or not total.elements:
        return ""
    count = terms.elements // total.elements
    if divisor == count:
        return ""
    return f"the variance is the sum of {count} squares divided by {divisor:g}"


def _divide_by_deviation(centred: Pattern) -> OneOf:
    variance = Op("Add", _variance(centred), "epsilon")
    deviation = Op("Sqrt", variance)
    return OneOf(
        Op("Div", centred, deviation),
        Op("Mul", centred, Op("Reciprocal", deviation)),
        Op("Mul", centred, Op("Rsqrt", variance)),
    )


def scaled_norm(x: Pattern) -> Op:
    """Returns the pattern of (x − mean) / √(variance + ε) · scale as several basic operators."""
    return Op("Mul", _divide_by_deviation(_subtract_mean(x)), "scale")


def layer_norm(x: Pattern) -> OneOf:
    """Returns the pattern of (x − mean) / √(variance + ε) · scale + shift.

    The pattern matches one operator, or a decomposition into up to ten operators.
    """
    spelled = _divide_by_deviation(_subtract_mean(x))
    return OneOf(Op("LayerNorm", x), Op("Add", scaled_norm(x), "shift"), spelled)


LAYER_NORM = Rule("LayerNorm", "intra-operator", OneOf(*layer_norm("x").patterns[1:]))
