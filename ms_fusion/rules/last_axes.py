"""Checks that operators and decomposed normalisations work along the last axes."""

from __future__ import annotations

from ms_fusion.graph import Graph, Node
from ms_fusion.rewrite import Match, NodeCheck


def is_over_last_axes(what: str) -> NodeCheck:
    """Returns a check that accepts an operator only over the last axis or the last several axes.

    If the axes or the rank of an operator are unknown, the check also accepts the operator.

    Args:
        what: name of the computation, such as ``softmax``; the reason contains this name.
    """

    def check(node: Node, graph: Graph) -> str:
        axes, rank = _axes_of(node, graph), len(graph.values[node.inputs[0]].shape)
        if not rank or set(axes) == set(range(rank - len(axes), rank)):
            return ""
        number = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(map(str, axes))}"
        return f"{what} is over {number}, not over the last axis"

    return check


def check_last_axis(match: Match) -> str:
    """Checks that a match normalises over the last axis; returns the reason if the check fails.

    The returned reason is an empty string if the match passes. Each mean and sum must reduce only
    the last axis and must keep this axis with size 1. Epsilon must be a constant. A sum must be
    divided by the length of a row, and scale and shift must be vectors of this length.
    """
    row = match.graph.values[match.nodes[-1].outputs[0]].shape[-1:]
    if any(
        _axes_of(node, match.graph) != (len(match.graph.values[node.inputs[0]].shape) - 1,)
        or not node.attr("keepdims", 1)
        for node in match.nodes
        if node.op in ("ReduceMean", "ReduceSum")
    ):
        return "it goes over more than the last axis"
    if match.number("epsilon") is None:
        return "epsilon is not known beforehand"
    if not (row and isinstance(row[0], int) and row[0] > 0):
        return "the length of a row is not known"
    if "count" in match.bound and match.number("count") != row[0]:
        return "the sum of squares is not divided by the length of a row"
    weights = (match.value(name) for name in ("scale", "shift") if name in match.bound)
    return "scale and shift are not rows" if any(one.shape != row for one in weights) else ""


def _axes_of(node: Node, graph: Graph) -> tuple[int, ...]:
    """Returns the axes of a reduction or softmax, counted from 0, or an empty tuple if unknown.

    The axes are read from the second input, or from the attribute ``axes`` or ``axis``.
    """
    given = graph.values[node.inputs[1]].data if len(node.inputs) > 1 else None
    if given is None:
        given = node.attr("axes", node.attr("axis"))
    axes = given if isinstance(given, tuple) else (given,)
    rank = len(graph.values[node.inputs[0]].shape)
    known = all(type(axis) is int and -rank <= axis < rank for axis in axes)
    return tuple(sorted({axis % rank for axis in axes})) if known and rank else ()
