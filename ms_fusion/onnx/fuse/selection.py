"""Selects candidates that share no operator and form no cycle, with maximal total saving in µs.

The candidates are partitioned into conflict components: candidates that share an operator are in
one component. A small component is solved exactly by branch and bound. In a larger component, a
greedy choice is the start of a local search with a limited number of steps.

The optimum of a larger component is unknown, but it has an upper bound. To compute the bound, each
candidate's saving is divided equally among the candidate's operators. Each operator then
contributes the largest share that a candidate gives to it. The bound is the sum of these
contributions. The reported gap is the distance of the saving from this bound. It is therefore never
smaller than the distance from the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ms_fusion.disjoint_sets import DisjointSets
from ms_fusion.graph import Graph
from ms_fusion.rewrite import Candidate

EXACT_CANDIDATES = 24
"""Largest number of candidates in a component that is solved exactly."""
SWAPS = 2000
"""Number of steps after which the local search stops."""


@dataclass(frozen=True)
class Selection:
    """The selected candidates.

    Attributes:
        chosen: the selected candidates, in the order in which `select` received them.
        us: total saving of the selected candidates in µs.
        bound_us: upper bound in µs on the saving of any selection.
        is_exact: whether every component was solved exactly.
    """

    chosen: tuple[Candidate, ...]
    us: float
    bound_us: float
    is_exact: bool

    @property
    def gap(self) -> float:
        """Largest possible difference between optimum and saving, as a share of `bound_us`."""
        return 0.0 if self.is_exact or self.bound_us <= 0 else 1 - self.us / self.bound_us

    def exclude(self, one: Candidate, us: float) -> Selection:
        """Returns the selection without the candidate `one`, whose fusion was found to be wrong."""
        left = tuple(other for other in self.chosen if other is not one)
        return replace(self, chosen=left, us=self.us - us, is_exact=False)


def select(graph: Graph, worth: Mapping[Candidate, float]) -> Selection:
    """Selects among candidates whose saving is positive.

    Args:
        graph: the graph of the candidates.
        worth: maps each candidate to its saving in µs, which is above 0.
    """
    chosen: list[Candidate] = []
    bound, is_exact = 0.0, True
    for knot in _conflict_components(tuple(worth)):
        if len(knot) <= EXACT_CANDIDATES:
            found = _branch_and_bound(knot, worth)
            bound += sum(worth[one] for one in found)
        else:
            found = _local_search(knot, worth)
            bound += min(_upper_bound(knot, worth), sum(worth[one] for one in knot))
            is_exact = False
        chosen += found
    kept, dropped = _break_cycles(graph, sorted(chosen, key=lambda one: -worth[one]))
    order = {one: place for place, one in enumerate(worth)}
    return Selection(
        tuple(sorted(kept, key=order.__getitem__)),
        sum(worth[one] for one in kept),
        bound,
        is_exact and not dropped,
    )


def _conflict_components(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Partitions the candidates into components that are connected by shared operators."""
    at: dict[str, int] = {}
    knots = DisjointSets(range(len(candidates)))
    for number, one in enumerate(candidates):
        for name in one.nodes:
            if name in at:
                knots.join(number, at[name])
            at[name] = number
    found: dict[int, list[Candidate]] = {}
    for number, one in enumerate(candidates):
        found.setdefault(knots.root(number), []).append(one)
    return list(found.values())


def _branch_and_bound(
    knot: Sequence[Candidate], worth: Mapping[Candidate, float]
) -> list[Candidate]:
    """Solves the small component `knot` exactly by branch and bound."""
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


def _local_search(knot: Sequence[Candidate], worth: Mapping[Candidate, float]) -> list[Candidate]:
    """Chooses greedily by saving per operator, then improves this choice by local search.

    A candidate is inserted if it saves more than the candidates that it displaces save together.
    """
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


def _upper_bound(knot: Sequence[Candidate], worth: Mapping[Candidate, float]) -> float:
    """Returns an upper bound in µs on the saving of any selection from the component `knot`.

    Each candidate's saving is divided equally among the candidate's operators. Each operator
    contributes the largest share that a candidate gives to it. The bound is the sum of these
    contributions.
    """
    share: dict[str, float] = {}
    for one in knot:
        each = worth[one] / len(one.nodes)
        for name in one.nodes:
            share[name] = max(share.get(name, 0.0), each)
    return sum(share.values())


def _break_cycles(
    graph: Graph, chosen: Sequence[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """Drops candidates until no dependency cycle is left.

    In each cycle, the candidate with the smallest saving is dropped. Returns a pair: the kept
    candidates, and the dropped candidates.
    """
    kept, dropped = list(chosen), list[Candidate]()
    while True:
        circle = _find_cycle(graph, kept)
        if not circle:
            return kept, dropped
        last = max(circle, key=kept.index)
        kept.remove(last)
        dropped.append(last)


def _find_cycle(graph: Graph, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Returns the candidates on dependency cycles, or an empty list if there is no cycle."""
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
    # Remove the groups that depend on a cycle but are on none.
    held = {one for one, count in left.items() if count}
    while ends := {one for one in held if held.isdisjoint(readers.get(one, ()))}:
        held -= ends
    return [one for one in chosen if one in held]
