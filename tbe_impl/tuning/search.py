"""The search: single changes, then combinations of those that helped, then neighbours of the best."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tbe_impl import tuning_store
from tbe_impl.tuning.measurement import MARGIN, Bench, Candidate, upper_bound
from tbe_impl.tuning.search_space import near, shared_otherwise, single, union
from tbe_impl.tuning_store import Choice, Tuning

TOP = 4
"""How many of the best are gone on with."""


def searched(bench: Bench, also: Sequence[Choice] = ()) -> Tuning:
    """Searches, with those choices among what is tried first, and decides."""
    found = _nearby(bench, _combined(bench, _alone(bench, also)))
    winner = _shared(bench, _decided(bench, found))
    default = winner.others if winner.times else [bench.timed(bench.default)]
    return Tuning(
        schema=1,
        key=tuning_store.key_of(bench.kernel),
        name=bench.kernel.name[:200],
        choice=winner.choice,
        default_us=statistics.median(default) * 1e6,
        tuned_us=statistics.median(winner.times or default) * 1e6,
        ratio=winner.ratio if winner.times else 1.0,
        bound=upper_bound(winner.ratios) if winner.times else 1.0,
        steps=bench.taken,
        seconds=bench.elapsed(),
    )


def _alone(bench: Bench, also: Sequence[Choice]) -> list[Candidate]:
    """What gains alone, the best first."""
    made = bench.candidates([*also, *single(bench.kernel)], share=0.35)
    found = bench.halved(made, rounds=8, share=0.4)
    return _sorted(found)[:TOP]


def _combined(bench: Bench, singles: Sequence[Candidate]) -> list[Candidate]:
    """What gained alone, put together."""
    useful = [item for item in singles if item.score < 1.01]
    unions = [
        union([item.choice for item in useful[:size]]) for size in (2, 3, 4) if len(useful) >= size
    ]
    unions += [union([a.choice, b.choice]) for n, a in enumerate(useful) for b in useful[n + 1 :]]
    found = [*singles, *bench.candidates(unions, share=0.45)]
    return _sorted(bench.halved(found, rounds=8, share=0.5))


def _nearby(bench: Bench, found: Sequence[Candidate]) -> list[Candidate]:
    """From the best one more step to each side, as long as that gains and there is time."""
    best: Candidate | None = None
    while found and found[0] is not best and found[0].score < 1.0 and not bench.is_over(0.55):
        best = found[0]
        steps = bench.candidates(near(bench.kernel, best.choice), share=0.6)
        if not steps:
            break
        found = _sorted(bench.halved([*found[:TOP], *steps], rounds=8, share=0.65))
    return [*found]


def _sorted(found: Sequence[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda item: item.score)


def _decided(bench: Bench, found: Sequence[Candidate]) -> Candidate:
    """The best of them against the default alone; the default unless it loses clearly."""
    for item in found[:3]:
        if item.score >= 1.0 - MARGIN:
            break
        if bench.beats(item, bench.default):
            return item
    return bench.default


def _shared(bench: Bench, winner: Candidate) -> Candidate:
    """The winner shared among other numbers of threads, against itself and then against the default."""
    for choice in shared_otherwise(winner.choice):
        for item in bench.candidates([choice]):
            if bench.beats(item, winner) and bench.beats(item, bench.default):
                return item
    return winner
