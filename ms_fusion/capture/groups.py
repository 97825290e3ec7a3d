"""Whether a group of operators lies inside one fused kernel of a ledger, and where it does not, why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

from ms_fusion.graph import Graph
from ms_fusion.ledger import FusedKernel, Ledger, UnfusedEdge
from tbe_impl.errors import FusionNotFound


def check_group(ledger: Ledger, group: Sequence[str]) -> FusedKernel:
    """The fused kernel of `ledger` that holds `group`; `FusionNotFound` when none does."""
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
    """Why no kernel holds all of them, and what helps where that is known.

    In this order: the net has not so many of them; an edge between two of them; the edges on the shortest path of values
    from the nearest kernel (else from the first operator) to what is missing in it; that there is no such path.
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
        return _told(direct[:1])
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
    path = _path(graph, sources, goals)
    steps = {frozenset(step): place for place, step in enumerate(pairwise(path))}
    edges = [one for one in ledger.unfused if frozenset((one.producer, one.consumer)) in steps]
    if edges:
        return _told(sorted(edges, key=lambda one: steps[frozenset((one.producer, one.consumer))]))
    there = {graph.node(one).op for one in sources if one in graph}
    others = " or ".join(f"another {op}" if op in there else op for op in missing)
    if path:
        return f"{others} lies in another kernel than {name}", None
    return f"no value flows between {name} and {others}", None


def _told(edges: Sequence[UnfusedEdge]) -> tuple[str, str | None]:
    """The reasons of some edges in one text, and the first change that is known to help."""
    text = "; ".join(
        f"{one.producer_op} → {one.consumer_op or 'outside'}: {one.detail.rstrip('.')}"
        for one in edges
    )
    return text, next((one.suggestion.text for one in edges if one.suggestion), None)


def _path(graph: Graph, sources: Collection[str], goals: Collection[str]) -> list[str]:
    """The names of the nodes on a shortest path of values, in either direction, from one of `sources` to one of `goals`.

    One direction is kept all the way: operators that only read the same value are not connected. Empty where there is none.
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
