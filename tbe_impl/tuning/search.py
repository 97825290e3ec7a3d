"""Searches options: single changes, then combinations of gains, then neighbours of the best."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tbe_impl import tuning_store
from tbe_impl.tuning.measurement import MARGIN, Bench, Candidate, upper_bound
from tbe_impl.tuning.search_space import neighbours, single_changes, thread_variants, union
from tbe_impl.tuning_store import Choice, Tuning

BEAM_WIDTH = 4
"""Number of best candidates kept after each phase."""


def search_options(bench: Bench, also: Sequence[Choice] = ()) -> Tuning:
    """Searches the fastest options of a kernel and returns them with their measurements.

    The choices in `also` are measured first, with the single changes.
    """
    found = _search_neighbours(
        bench, _search_combinations(bench, _search_single_changes(bench, also))
    )
    winner = _search_threads(bench, _choose_winner(bench, found))
    default = winner.reference_times if winner.times else [bench.measure_call(bench.default)]
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
        seconds=bench.elapsed_s(),
    )


def _search_single_changes(bench: Bench, also: Sequence[Choice]) -> list[Candidate]:
    """Returns the single changes with the best scores, best first."""
    made = bench.make_candidates([*also, *single_changes(bench.kernel)], share=0.35)
    found = bench.run_successive_halving(made, rounds=8, share=0.4)
    return _sort_by_score(found)[:BEAM_WIDTH]


def _search_combinations(bench: Bench, singles: Sequence[Candidate]) -> list[Candidate]:
    """Measures combinations of the best single changes.

    Returns the best combinations and single changes, best first.
    """
    useful = [item for item in singles if item.score < 1.01]
    unions = [
        union([item.choice for item in useful[:size]]) for size in (2, 3, 4) if len(useful) >= size
    ]
    unions += [union([a.choice, b.choice]) for n, a in enumerate(useful) for b in useful[n + 1 :]]
    found = [*singles, *bench.make_candidates(unions, share=0.45)]
    return _sort_by_score(bench.run_successive_halving(found, rounds=8, share=0.5))


def _search_neighbours(bench: Bench, found: Sequence[Candidate]) -> list[Candidate]:
    """Hill climbing: tries neighbours of the best candidate while this gains and time is left.

    Returns the best candidates, best first.
    """
    best: Candidate | None = None
    while found and found[0] is not best and found[0].score < 1.0 and not bench.is_over(0.55):
        best = found[0]
        steps = bench.make_candidates(neighbours(bench.kernel, best.choice), share=0.6)
        if not steps:
            break
        found = _sort_by_score(
            bench.run_successive_halving([*found[:BEAM_WIDTH], *steps], rounds=8, share=0.65)
        )
    return [*found]


def _sort_by_score(found: Sequence[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda item: item.score)


def _choose_winner(bench: Bench, found: Sequence[Candidate]) -> Candidate:
    """Returns the best candidate that clearly beats the default, else the default."""
    for item in found[:3]:
        if item.score >= 1.0 - MARGIN:
            break
        if bench.is_faster(item, bench.default):
            return item
    return bench.default


def _search_threads(bench: Bench, winner: Candidate) -> Candidate:
    """Tries other thread counts for the winner.

    Returns the first variant that is faster than the winner and the default, else the winner.
    """
    for choice in thread_variants(winner.choice):
        for item in bench.make_candidates([choice]):
            if bench.is_faster(item, winner) and bench.is_faster(item, bench.default):
                return item
    return winner
