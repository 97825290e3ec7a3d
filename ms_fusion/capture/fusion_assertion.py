"""Asserts that one fused kernel contains a group of operators; the error states why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any

from ms_fusion.capture import explain_net
from ms_fusion.graph import Graph
from ms_fusion.ledger import FusedKernel, Ledger, UnfusedEdge
from tbe_impl.errors import FusionNotFound, InputError


def check_group(ledger: Ledger, group: Sequence[str]) -> FusedKernel:
    """Returns the fused kernel of `ledger` that contains all operators of `group`.

    Raises:
        FusionNotFound: no fused kernel contains all operators of the group.
    """
    wanted = Counter(group)
    overlaps = [
        (
            max((wanted & Counter(names)).total() for names in (kernel.operators, kernel.body)),
            kernel,
        )
        for kernel in ledger.kernels
    ]
    for overlap, kernel in overlaps:
        if overlap == wanted.total():
            return kernel
    named = " + ".join(group)
    best, nearest = max(overlaps, key=lambda pair: pair[0], default=(0, None))
    near = nearest if best else None
    reason, remedy = _reason(ledger, wanted, near)
    raise FusionNotFound(
        f"{named} is not in one fused kernel: {reason}",
        place=ledger.title,
        expected=f"a kernel with {named}",
        got=f"nearest is {near.name} ({' + '.join(near.operators)})" if near else "no such kernel",
        remedy=remedy or "Print the ledger of `mf.explain` to see every reason.",
    )


def _reason(
    ledger: Ledger, wanted: Counter[str], nearest: FusedKernel | None
) -> tuple[str, str | None]:
    """Returns (the reason why no kernel contains all wanted operators, a remedy or None).

    The reason is the first of the following that applies:

    1. The net has no operator of a wanted type.
    2. An edge between two operators of wanted types is unfused.
    3. The net has too few operators of a wanted type.
    4. An edge on the shortest path to a missing operator is unfused. The path begins at the
       operators of `nearest`, the kernel that contains the most wanted operators. If no kernel
       contains a wanted operator, the path begins at the operators of the first wanted type.
    5. The missing operator is in another kernel, or no path leads to it.
    """
    graph = ledger.before.graph
    present = Counter(node.op for node in graph)
    inside = {name for kernel in ledger.kernels for name in kernel.body}
    absent = [name for name in wanted if not present[name] and name not in inside]
    direct = [
        one for one in ledger.unfused if one.producer_op in wanted and one.consumer_op in wanted
    ]
    if absent:
        return (
            f"the net has no operator {' or '.join(absent)} (it has {', '.join(sorted(present))})",
            None,
        )
    if direct:
        return _describe_edges(direct[:1])
    for name, count in wanted.items():
        if 0 < present[name] < count and name not in inside:
            return f"the net has {present[name]} {name}, not {count}", None
    if nearest is not None:
        most = max(
            (nearest.operators, nearest.body), key=lambda one: (wanted & Counter(one)).total()
        )
        missing, sources, name = (
            wanted - Counter(most),
            nearest.nodes,
            f"the operators of {nearest.name}",
        )
        goals = {node.name for node in graph if node.op in missing} - set(sources)
    else:
        name = next(iter(wanted))
        missing = wanted - Counter([name])
        sources = tuple(node.name for node in graph if node.op == name)
        goals = {node.name for node in graph if node.op in missing}
    path = _shortest_path(graph, sources, goals)
    steps = {frozenset(step): place for place, step in enumerate(pairwise(path))}
    edges = [one for one in ledger.unfused if frozenset((one.producer, one.consumer)) in steps]
    if edges:
        return _describe_edges(
            sorted(edges, key=lambda one: steps[frozenset((one.producer, one.consumer))])
        )
    there = {graph.node(one).op for one in sources if one in graph}
    others = " or ".join(f"another {op}" if op in there else op for op in missing)
    if path:
        return f"{others} and {name} are in different kernels", None
    return f"no value flows between {name} and {others}", None


def _describe_edges(edges: Sequence[UnfusedEdge]) -> tuple[str, str | None]:
    """Returns (one text with the reasons why `edges` are unfused, the first remedy or None)."""
    text = "; ".join(
        f"{one.producer_op} → {one.consumer_op or 'outside'}: {one.detail.rstrip('.')}"
        for one in edges
    )
    return text, next((one.suggestion.text for one in edges if one.suggestion), None)


def _shortest_path(graph: Graph, sources: Collection[str], goals: Collection[str]) -> list[str]:
    """Returns the node names on a shortest path from the nodes `sources` to the nodes `goals`.

    All edges of the path have the same direction: either from producer to consumer, or from
    consumer to producer. So two operators that only read the same value have no path between them.
    Returns an empty list if there is no path.
    """
    found: list[list[str]] = []
    for forward in (True, False):
        neighbours: dict[str, list[str]] = {}
        for edge in graph.edges:
            start, end = (
                (edge.producer, edge.consumer) if forward else (edge.consumer, edge.producer)
            )
            neighbours.setdefault(start, []).append(end)
        before: dict[str, str | None] = dict.fromkeys(sorted(sources))
        waiting = list(before)
        for name in waiting:
            ends = neighbours.get(name, [])
            goal = next((end for end in ends if end in goals), None)
            if goal is not None:
                path = [goal]
                step: str | None = name
                while step is not None:
                    path.append(step)
                    step = before[step]
                found.append(path[::-1])
                break
            for end in ends:
                if end not in before:
                    before[end] = name
                    waiting.append(end)
    return min(found, key=len, default=[])


def assert_fused(
    net: Callable[..., Any],
    inputs: Sequence[Any],
    groups: Sequence[Sequence[str]],
    *,
    preset: str | None = None,
    flags: str | None = None,
    only_flags: str | None = None,
    generator: str | None = None,
) -> Ledger:
    """Asserts for each group that one fused kernel contains all operators of the group.

    Args:
        net: as for `explain`.
        inputs: the arguments of the call, as a tuple.
        groups: tuples of operator types, in any order, such as ``[("Mul", "Add"), ("MatMul",
            "BiasAdd")]``. If a tuple contains a type n times, the kernel must contain n operators
            of this type.
        preset, flags, only_flags, generator: as for `explain`.

    Returns:
        The ledger, without times.

    Raises:
        FusionNotFound: no kernel contains all operators of a group. The error is an
            `AssertionError` and names the nearest kernel and the reason.
    """
    if isinstance(groups, str) or any(isinstance(group, str) for group in groups):
        raise InputError(
            "each group is a tuple of operators",
            place="groups",
            expected='such as [("Mul", "Add")]',
            got=repr(groups),
            remedy="Put the operators of one kernel into a tuple, and the tuples into a list",
        )
    ledger = explain_net.explain(
        net,
        *_as_tuple(inputs),
        preset=preset,
        flags=flags,
        only_flags=only_flags,
        generator=generator,
        measure=False,
        accuracy=False,
    )
    for group in groups:
        check_group(ledger, group)
    return ledger


def _as_tuple(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
