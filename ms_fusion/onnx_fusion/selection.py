"""Selects candidates: no overlap, no cycle, the most µs saved in all.

Candidates that share no operator, directly or through others, are chosen apart. A small knot is solved exactly, a larger one
by a bounded search from the greedy choice; the bound is the sum over operators of the best share that any candidate gives
them, so the gap that is reported is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ms_fusion.disjoint import Disjoint
from ms_fusion.graph import Graph
from ms_fusion.rewrite import Candidate

EXACT_CANDIDATES = 24
"""Of a knot that is solved exactly."""
SWAPS = 2000
"""Steps of the search in a larger one."""


@dataclass(frozen=True)
class Selection:
    """What was chosen.

    Attributes:
        chosen: the candidates, in the order in which they were given.
        us: what they save together.
        bound_us: no choice saves more than this.
        is_exact: whether every knot was solved exactly.
    """

    chosen: tuple[Candidate, ...]
    us: float
    bound_us: float
    is_exact: bool

    @property
    def gap(self) -> float:
        """How far the choice may be from the best one, as a share of it."""
        return 0.0 if self.is_exact or self.bound_us <= 0 else 1 - self.us / self.bound_us

    def without(self, one: Candidate, us: float) -> Selection:
        """The choice without one that turned out wrong."""
        left = tuple(other for other in self.chosen if other is not one)
        return replace(self, chosen=left, us=self.us - us, is_exact=False)


def select(graph: Graph, worth: Mapping[Candidate, float]) -> Selection:
    """The choice among candidates that each save something.

    Args:
        graph: in which they stand.
        worth: each candidate → µs that it saves, above 0.
    """
    chosen: list[Candidate] = []
    bound, is_exact = 0.0, True
    for knot in _knots(tuple(worth)):
        if len(knot) <= EXACT_CANDIDATES:
            found = _best(knot, worth)
            bound += sum(worth[one] for one in found)
        else:
            found = _searched(knot, worth)
            bound += min(_bound(knot, worth), sum(worth[one] for one in knot))
            is_exact = False
        chosen += found
    kept, dropped = _without_circles(graph, sorted(chosen, key=lambda one: -worth[one]))
    order = {one: place for place, one in enumerate(worth)}
    return Selection(
        tuple(sorted(kept, key=order.__getitem__)),
        sum(worth[one] for one in kept),
        bound,
        is_exact and not dropped,
    )


def _knots(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates in the same knot if they share an operator, or each shares one with a third."""
    at: dict[str, int] = {}
    knots = Disjoint(range(len(candidates)))
    for number, one in enumerate(candidates):
        for name in one.nodes:
            if name in at:
                knots.join(number, at[name])
            at[name] = number
    found: dict[int, list[Candidate]] = {}
    for number, one in enumerate(candidates):
        found.setdefault(knots.root(number), []).append(one)
    return list(found.values())


def _best(knot: Sequence[Candidate], worth: Mapping[Candidate, float]) -> list[Candidate]:
    """Branch and bound over a small knot."""
    items = sorted(knot, key=lambda one: -worth[one])
    sets = [frozenset(one.nodes) for one in items]
    rest = [0.0] * (len(items) + 1)
    for number in reversed(range(len(items))):
        rest[number] = rest[number + 1] + worth[items[number]]
    best: tuple[float, tuple[int, ...]] = (0.0, ())

    def search(number: int, used: frozenset[str], us: float, taken: tuple[int, ...]) -> None:
        nonlocal best
        if us > best[0]:
            best = us, taken
        if number == len(items) or us + rest[number] <= best[0]:
            return
        if not used & sets[number]:
            search(number + 1, used | sets[number], us + worth[items[number]], (*taken, number))
        search(number + 1, used, us, taken)

    search(0, frozenset(), 0.0, ())
    return [items[number] for number in best[1]]


def _searched(knot: Sequence[Candidate], worth: Mapping[Candidate, float]) -> list[Candidate]:
    """Greedy by worth for each operator, then candidates are put in where they are worth more than all they displace."""
    items = sorted(knot, key=lambda one: -worth[one] / len(one.nodes))
    owner: dict[str, Candidate] = {}

    def put(one: Candidate) -> bool:
        displaced = {owner[name] for name in one.nodes if name in owner}
        if one in displaced or sum(worth[other] for other in displaced) >= worth[one]:
            return False
        for other in displaced:
            for name in other.nodes:
                del owner[name]
        owner.update(dict.fromkeys(one.nodes, one))
        return True

    steps, changed = 0, True
    while changed and steps < SWAPS:
        changed = False
        for one in items:
            steps += 1
            changed |= put(one)
    return list(dict.fromkeys(owner.values()))


def _bound(knot: Sequence[Candidate], worth: Mapping[Candidate, float]) -> float:
    """Each operator gets the best share of any candidate that it is in; no choice can give it more."""
    share: dict[str, float] = {}
    for one in knot:
        each = worth[one] / len(one.nodes)
        for name in one.nodes:
            share[name] = max(share.get(name, 0.0), each)
    return sum(share.values())


def _without_circles(
    graph: Graph, chosen: Sequence[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """Those that can run one after the other; groups that wait for each other lose the least of them."""
    kept, dropped = list(chosen), list[Candidate]()
    while True:
        circle = _circle(graph, kept)
        if not circle:
            return kept, dropped
        last = max(circle, key=kept.index)
        kept.remove(last)
        dropped.append(last)


def _circle(graph: Graph, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Groups that cannot be put into an order, empty when all can."""
    group = {name: one for one in chosen for name in one.nodes}
    key: Callable[[str], object] = lambda name: group.get(name, name)  # noqa: E731
    waits: dict[object, set[object]] = {}
    for edge in graph.edges:
        first, last = key(edge.producer), key(edge.consumer)
        if first != last:
            waits.setdefault(last, set()).add(first)
    readers: dict[object, list[object]] = {}
    for last, firsts in waits.items():
        for first in firsts:
            readers.setdefault(first, []).append(last)
    left = {one: len(firsts) for one, firsts in waits.items()}
    ready = [
        one for one in dict.fromkeys(key(node.name) for node in graph.nodes) if not left.get(one)
    ]
    while ready:
        one = ready.pop()
        for last in readers.get(one, ()):
            left[last] -= 1
            if not left[last]:
                ready.append(last)
    # of those that wait, some only stand behind a circle
    held = {one for one, count in left.items() if count}
    while ends := {one for one in held if held.isdisjoint(readers.get(one, ()))}:
        held -= ends
    return [one for one in chosen if one in held]
