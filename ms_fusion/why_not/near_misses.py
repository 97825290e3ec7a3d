"""Finds groups of operators that a rule nearly matches, such as a GELU with a wrong constant."""

from __future__ import annotations

from ms_fusion.graph import Graph, Node, Source
from ms_fusion.ledger import RejectedCandidate
from ms_fusion.rewrite import Candidate, find_matches, find_near_misses
from ms_fusion.rules import DEFAULT_RULES
from ms_fusion.source_paths import is_internal_file


def find_rejected_groups(graph: Graph) -> tuple[RejectedCandidate, ...]:
    """Returns the groups of operators that nearly match a rule, with the reasons.

    A near miss is a group that resembles a known operator (such as GELU), but does not compute
    exactly the same function. Rules of the kind ``cross-operator``, which match several whole
    operators, are not tried, because MindSpore's fusions do not depend on our rules.

    A group is left out if it is a part of a match. If several groups share operators, only one of
    them is returned. It is the largest group of the rule that comes first in `DEFAULT_RULES`.
    """
    order = {node.name: place for place, node in enumerate(graph.nodes)}
    rules = [rule for rule in DEFAULT_RULES if rule.kind != "cross-operator"]
    found: dict[Candidate, str] = {}
    for rule in rules:
        for match, reason in find_near_misses(rule, graph, order):
            found[Candidate(rule.name, rule.kind, tuple(one.name for one in match.nodes))] = reason
    if not found:
        return ()
    matched = [
        {node.name for node in match.nodes}
        for rule in rules
        for match in find_matches(rule, graph, order)
    ]
    kept: list[Candidate] = []
    taken: set[str] = set()
    ranks = {rule.name: rank for rank, rule in enumerate(rules)}
    for one in sorted(found, key=lambda one: (ranks[one.rule], -len(one.nodes))):
        if taken.isdisjoint(one.nodes) and not any(known >= set(one.nodes) for known in matched):
            kept.append(one)
            taken |= set(one.nodes)
    return tuple(_record(one, graph, found[one]) for one in kept)


def _record(one: Candidate, graph: Graph, reason: str) -> RejectedCandidate:
    nodes = [graph.node(name) for name in one.nodes]
    operators = tuple(node.op for node in nodes)
    source = next(filter(None, map(_user_source, reversed(nodes))), None)
    return RejectedCandidate(one.rule, one.kind, operators, one.nodes, None, reason, source)


def _user_source(node: Node) -> Source | None:
    """Returns the line of the user's code that is nearest to the operator, or None if unknown."""
    return next((one for one in reversed(node.sources) if not is_internal_file(one.file)), None)
