"""Searches the fastest options of a kernel in four phases.

The first phase tries single changes of the default. The second phase combines the changes that do
not clearly slow the kernel down. The third phase tries neighbours of the best candidate, and the
fourth phase tries other thread counts. Candidates differ from the default in the fields of `KNOBS`,
in the thread options, and in the stored stages (intermediate stages whose results are stored in
memory).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import prod
from typing import Any

import msgspec

from tbe_impl import environment
from tbe_impl.codegen.program import storable_results
from tbe_impl.dsl.tensor import stages_of, static_shape
from tbe_impl.kernel import Kernel
from tbe_impl.tuning.measurement import MARGIN, Bench, Candidate, upper_bound
from tbe_impl.tuning_store import UNREACHABLE_THRESHOLD, Choice, Tuning

BEAM_WIDTH = 4
"""Number of candidates with the best scores that are kept after a phase."""
STAGES_MAX = 12
SMALL_STAGE_RATIO = 8
"""Minimum of (elements of the largest output) / (elements of a stage) for storing the stage."""

KNOBS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("jam_factor", (8, 4, 2, 1)),
    ("portions", (16,)),
    ("accumulators", (1, 8, 2)),
    ("unroll", (2, 4)),
    ("keep_rows", (False,)),
    ("prefetch", (False,)),
    ("software_pipelining", (False,)),
    ("stream_bytes", (UNREACHABLE_THRESHOLD, 0)),
    ("vector_bits", (256,)),
)
"""Fields of `Choice` with their alternative values, ordered by how often a change helps.

The field `stored` and the thread options are handled separately.
"""


def search_options(bench: Bench, also: Sequence[Choice] = ()) -> Tuning:
    """Searches the fastest options of a kernel and returns them with their measurements.

    The choices (sets of options) in `also` are measured first, before the single changes.
    """
    found = _search_neighbours(
        bench, _search_combinations(bench, _search_single_changes(bench, also))
    )
    winner = _search_threads(bench, _choose_winner(bench, found))
    default = winner.reference_times if winner.times else [bench.measure_call(bench.default)]
    return Tuning(
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
    """Measures the choices in `also` and all single changes of the default.

    Returns the candidates with the best scores, best first.
    """
    made = bench.make_candidates([*also, *single_changes(bench.kernel)], share=0.35)
    found = bench.run_successive_halving(made, rounds=8, share=0.4)
    return _sort_by_score(found)[:BEAM_WIDTH]


def _search_combinations(bench: Bench, singles: Sequence[Candidate]) -> list[Candidate]:
    """Measures combinations of the best single changes.

    Returns the best combinations and single changes, best first.
    """
    useful = [item for item in singles if item.score < 1.01]
    unions = [
        _union([item.choice for item in useful[:size]]) for size in (2, 3, 4) if len(useful) >= size
    ]
    unions += [_union([a.choice, b.choice]) for n, a in enumerate(useful) for b in useful[n + 1 :]]
    found = [*singles, *bench.make_candidates(unions, share=0.45)]
    return _sort_by_score(bench.run_successive_halving(found, rounds=8, share=0.5))


def _search_neighbours(bench: Bench, found: Sequence[Candidate]) -> list[Candidate]:
    """Tries the neighbours of the best candidate as long as a better candidate is found.

    The search also stops when about half of the maximum number of measurements, or of the maximum
    time, is used up. Returns the best candidates, best first.
    """
    best: Candidate | None = None
    while found and found[0] is not best and found[0].score < 1.0 and not bench.is_over(0.55):
        best = found[0]
        steps = bench.make_candidates(_neighbours(bench.kernel, best.choice), share=0.6)
        if not steps:
            break
        found = _sort_by_score(
            bench.run_successive_halving([*found[:BEAM_WIDTH], *steps], rounds=8, share=0.65)
        )
    return [*found]


def _sort_by_score(found: Sequence[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda item: item.score)


def _choose_winner(bench: Bench, found: Sequence[Candidate]) -> Candidate:
    """Returns the best candidate that is clearly faster than the default, or the default."""
    for item in found[:3]:
        if item.score >= 1.0 - MARGIN:
            break
        if bench.is_faster(item, bench.default):
            return item
    return bench.default


def _search_threads(bench: Bench, winner: Candidate) -> Candidate:
    """Tries other thread counts for the winner.

    Returns the first variant that is faster than the winner and the default, or the winner.
    """
    for choice in _thread_variants(winner.choice):
        for item in bench.make_candidates([choice]):
            if bench.is_faster(item, winner) and bench.is_faster(item, bench.default):
                return item
    return winner


def single_changes(kernel: Kernel) -> list[Choice]:
    """Returns the choices that differ from the default in one field."""
    first, *rest = [
        [Choice(**{name: value}) for value in values] for name, values in _knobs(kernel)
    ]
    stored = [Choice(stored=(number,)) for number in _find_stages_to_store(kernel)]
    return [*first, *stored[:1], *(choice for choices in rest for choice in choices), *stored[1:]]


def _knobs(kernel: Kernel) -> list[tuple[str, tuple[Any, ...]]]:
    """Returns the entries of `KNOBS` that may affect a kernel.

    The entry `portions` is the number of parts of a loop nest that are distributed over the
    threads. If the kernel runs on one thread, the result does not contain this entry.
    """
    arguments = (*kernel.inputs, *kernel.outputs)
    elements = sum(prod(static_shape(item.tensor) or (0,)) for item in arguments)
    shared = environment.threads() > 1 and elements >= kernel.options.parallel_elements
    idle = {"portions"} if not shared else set()
    return [item for item in KNOBS if item[0] not in idle]


def _neighbours(kernel: Kernel, choice: Choice) -> list[Choice]:
    """Returns the choices that change one field of `choice` or store one more stage."""
    found = [
        msgspec.structs.replace(choice, **{name: value})
        for name, values in _knobs(kernel)
        for value in (*values, getattr(Choice(), name))
    ]
    return [*found, *(_union([choice, Choice(stored=(n,))]) for n in _find_stages_to_store(kernel))]


def _thread_variants(choice: Choice) -> list[Choice]:
    """Returns variants of `choice` with other numbers of threads.

    One variant uses one thread. Another variant uses all threads regardless of the tensor size. The
    remaining variants use some of the threads. If the process has a single thread, the list is
    empty.
    """
    most = environment.threads()
    counts = [most]
    while counts[-1] > 3:
        counts.append(counts[-1] // 2)
    changes: list[dict[str, int]] = [
        {"parallel_elements": UNREACHABLE_THRESHOLD},
        {"parallel_elements": 0},
    ]
    changes += [{"threads": count} for count in counts[1:]]
    return [msgspec.structs.replace(choice, **change) for change in changes if most > 1]


def _union(choices: Sequence[Choice]) -> Choice:
    """Merges choices into one choice with the changes of all.

    If several choices change a field, the value of the first of these choices is used. The result
    stores the stages that one of the choices stores.
    """
    default = msgspec.structs.asdict(Choice())
    found: dict[str, Any] = {}
    for choice in choices:
        for name, value in msgspec.structs.asdict(choice).items():
            if name == "stored":
                found[name] = tuple(sorted({*found.get(name, ()), *value}))
            elif value != default[name]:
                found.setdefault(name, value)
    return Choice(**found)


def _find_stages_to_store(kernel: Kernel) -> list[int]:
    """Returns the indices of stages that are much smaller than the largest output.

    The indices are in descending order, and there are at most `STAGES_MAX` of them.
    Returns an empty list for a kernel that a library computes in part.
    """
    outputs = kernel.computed
    if any(op.kind == "library" for op in stages_of(outputs)):
        return []  # Stage indices count within one program; this kernel has several programs.
    sizes = [prod(static_shape(item) or (0,)) for item in outputs]
    found = storable_results(outputs, [item.tensor for item in kernel.inputs])
    small = [
        n
        for n, item in enumerate(found)
        if 0 < prod(static_shape(item) or (0,)) * SMALL_STAGE_RATIO <= max(sizes)
    ]
    return small[::-1][:STAGES_MAX]
