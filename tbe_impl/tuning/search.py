"""The search: everything alone, what gained put together, one step more from the best; then the best against the default."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tbe_impl import tuned
from tbe_impl.tuned import Tuning
from tbe_impl.tuning.measuring import MARGIN, Bench, Candidate, upper_bound
from tbe_impl.tuning.space import near, shared_otherwise, single, union


def searched(bench: Bench) -> Tuning:
    """Searches and decides."""
    found = _combined(
        bench, bench.halved(bench.candidates(single(bench.kernel)), rounds=8, share=0.35)
    )
    winner = _shared(bench, _decided(bench, found))
    default = winner.others if winner.times else [bench.timed(bench.default)]
    return Tuning(
        schema=1,
        key=tuned.key_of(bench.kernel),
        name=bench.kernel.name[:200],
        choice=winner.choice,
        default_us=statistics.median(default) * 1e6,
        tuned_us=statistics.median(winner.times or default) * 1e6,
        ratio=winner.ratio if winner.times else 1.0,
        bound=upper_bound(winner.ratios) if winner.times else 1.0,
        steps=bench.taken,
        seconds=bench.elapsed(),
    )


def _combined(bench: Bench, singles: Sequence[Candidate]) -> list[Candidate]:
    """What gained alone, put together; from the best of these one more step to each side."""
    useful = [item for item in sorted(singles, key=lambda item: item.score) if item.score < 1.01]
    tops = [union([item.choice for item in useful[:size]]) for size in (2, 3, 4) if len(useful) >= size]  # fmt: skip
    pairs = [union([a.choice, b.choice]) for n, a in enumerate(useful[:4]) for b in useful[n + 1 : 4]]  # fmt: skip
    found = bench.halved([*singles, *bench.candidates([*tops, *pairs])], rounds=8, share=0.55)
    best = min(found, key=lambda item: item.score, default=None)
    if best is not None and best.score < 1.0:
        more = bench.candidates(near(bench.kernel, best.choice))
        found = bench.halved([*found, *more], rounds=8, share=0.55)
    return found


def _decided(bench: Bench, found: Sequence[Candidate]) -> Candidate:
    """The best of them against the default alone; the default unless it loses clearly."""
    for item in sorted(found, key=lambda item: item.score)[:3]:
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
