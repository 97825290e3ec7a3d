"""Checks that a decomposed normalisation is what an operator over the last axis computes."""

from __future__ import annotations

from collections.abc import Iterable

from ms_fusion.graph import Graph, Node
from ms_fusion.rewrite import Match


def check_last_axis(match: Match) -> str:
    """Returns why a match is no normalisation over the last axis; an empty string if it is one.

    Each mean must keep the last axis, epsilon must be a constant, and scale and shift must be
    vectors of the length of a row.
    """
    shape = match.graph.values[match.nodes[-1].outputs[0]].shape
    row = shape[-1:]
    if any(
        _axes(node, match.graph) not in ([-1], [len(shape) - 1]) or not node.attr("keepdims", 1)
        for node in match.nodes
        if node.op == "ReduceMean"
    ):
        return "it goes over more than the last axis"
    if match.number("epsilon") is None:
        return "epsilon is not known beforehand"
    if not (row and isinstance(row[0], int) and row[0] > 0):
        return "the length of a row is not known"
    weights = (match.value(name) for name in ("scale", "shift") if name in match.bound)
    return "scale and shift are no rows" if any(one.shape != row for one in weights) else ""


def _axes(node: Node, graph: Graph) -> list[int] | None:
    given = graph.values[node.inputs[1]].data if len(node.inputs) > 1 else node.attr("axes")
    return list(given) if isinstance(given, Iterable) else None
