"""Plans the data loops and the reduction loops of a result in the order that a schedule fixes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tbe_impl.codegen.options import LoopChoice
from tbe_impl.codegen.planning.access_analysis import Accesses
from tbe_impl.codegen.planning.loop_orders import (
    Level,
    LoopPlan,
    Refusal,
    contiguity_score,
    drop_trivial_loops,
    is_complete_order,
    unroll_factor,
)
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.planning.reduction_loops import split_innermost_part
from tbe_impl.records import Record

MAX_THREAD_ROW_ELEMENTS = 1 << 16
"""Maximum number of elements of a result for which each thread keeps its own partial sums."""


class ScheduledLoops(Record):
    """The roles of the levels (loops) of a nest whose loop order a schedule fixes.

    Attributes:
        inside: number of levels down to and including the innermost data loop. All deeper levels
            are loops of a reduction that produces a single element.
        first_sum: position of the outermost reduction level. If there is none, this is the number
            of levels.
        vector: position of the vectorized level.
        has_private_sums: whether each thread has its own partial sums. The partial sums of all
            threads are added at the end.
        jumps: whether some reads depend on the index of the vectorized level, but none of these
            reads is contiguous along this level.
    """

    inside: int
    first_sum: int
    vector: int
    has_private_sums: bool
    jumps: bool = False

    @property
    def has_rows_in_memory(self) -> bool:
        """Returns whether partial sums are kept in memory.

        Partial sums are kept in memory if data loops run inside a reduction loop.
        """
        return self.first_sum < self.inside


def plan_scheduled_loops(
    axes: Sequence[tuple[int, Poly]],
    summed: Sequence[tuple[int, Poly]],
    choices: Sequence[LoopChoice],
    found: Accesses,
) -> tuple[LoopPlan, ScheduledLoops] | None:
    """Plans the loops of a stage.

    Returns None if the requested loops are unusable: they do not cover each axis completely, there
    is no loop over a data axis, or no loop can be vectorized.

    Args:
        axes: one pair (serial number of the axis, extent) for each data axis.
        summed: one such pair for each reduced axis.
        choices: the requested loops. They identify axes by serial number.
        found: the memory accesses of the stage.
    """
    extents = {serial: extent for serial, extent in (*axes, *summed) if extent != ONE}
    over_sums = {serial for serial, _ in summed}
    loops, refusals = drop_trivial_loops(choices, extents)
    if not loops or not is_complete_order(loops, extents):
        return None
    if _vector_level(loops, over_sums, found) is None:
        loops = split_innermost_part(loops, refusals)
    serials = [{serial for serial, _ in loop.parts} for loop in loops]
    inside, first_sum = _sum_levels(loops, over_sums)
    vector = _vector_level(loops, over_sums, found)
    if not inside or vector is None:
        return None
    levels = tuple(Level(loop.parts, unroll_factor(loop), loop.tiles) for loop in loops)
    count = math.prod((extent for _, extent in axes), start=ONE)
    few = count.constant is not None and count.constant <= MAX_THREAD_ROW_ELEMENTS
    shared, has_private_sums = _parallel_level(loops, serials, over_sums, refusals, few=few)
    grain = loops[shared].parts[0][1] if len(loops[shared].parts) == 1 else 1
    if loops[shared].shared:
        grain = max(grain, loops[shared].grain)
    indices = [serial for loop in loops for serial, step in loop.parts if step == 1]
    merged = {serial: serial for serial in indices}
    plan = LoopPlan(
        tuple((serial, extents[serial]) for serial in indices),
        levels,
        shared,
        grain if grain > 1 else 0,
        merged,
        tuple(refusals),
    )
    return plan, ScheduledLoops(
        inside, first_sum, vector, has_private_sums, _is_strided(loops[vector], found)
    )


def _sum_levels(loops: Sequence[LoopChoice], over_sums: set[int]) -> tuple[int, int]:
    """Returns the values of `ScheduledLoops.inside` and `ScheduledLoops.first_sum` for `loops`."""
    sums = [{serial for serial, _ in loop.parts} & over_sums for loop in loops]
    others = [{serial for serial, _ in loop.parts} - over_sums for loop in loops]
    inside = max((place + 1 for place, own in enumerate(others) if own), default=0)
    return inside, next((place for place, own in enumerate(sums) if own), len(loops))


def _vector_level(loops: Sequence[LoopChoice], over_sums: set[int], found: Accesses) -> int | None:
    """Chooses the level (loop) to vectorize.

    Returns None if no level is eligible. The score of a level is the number of accesses that are
    contiguous along it, minus the number of accesses that are strided along it. The level with the
    greatest score is chosen. If scores are equal, data loops precede reduction loops, then inner
    loops precede outer loops.

    Fused loops and block loops (loops that step from block to block) are not eligible. A reduction
    loop is eligible only if it encloses no data loop. If partial sums are kept in memory, a loop
    outside the outermost reduction loop is not eligible. If they are not kept in memory, the only
    eligible data loop is the innermost data loop.
    """
    inside, first_sum = _sum_levels(loops, over_sums)
    best, place = None, None
    for number, loop in enumerate(loops):
        serial, step = loop.parts[0]
        is_sum = serial in over_sums
        if (
            len(loop.parts) > 1
            or step > 1
            or number < (inside if is_sum else min(first_sum, inside - 1))
        ):
            continue
        rank = (contiguity_score(serial, found), not is_sum, number)
        if best is None or rank >= best:
            best, place = rank, number
    return place


def _is_strided(loop: LoopChoice, found: Accesses) -> bool:
    steps = [address.coefficient(loop.parts[0][0]) for _, address in found.addresses]
    return ONE not in steps and any(step != ZERO for step in steps)


def _parallel_level(
    loops: Sequence[LoopChoice],
    serials: Sequence[set[int]],
    over_sums: set[int],
    refusals: list[Refusal],
    *,
    few: bool,
) -> tuple[int, bool]:
    """Returns (level to run in parallel, whether the threads add to the same results).

    `few` states whether the result has few elements, so that each thread may have partial sums for
    all of them.
    """
    apart = []
    for place, own in enumerate(serials):
        if not own & over_sums and not own & set().union(*serials[:place]):
            apart.append(place)
    wanted = next((place for place, loop in enumerate(loops) if loop.shared), None)
    if wanted is not None:
        if wanted in apart:
            return wanted, False
        if wanted == 0:
            return 0, True
        why = "threads would add to the same results: rfactor gives each its own"
        if not serials[wanted] & over_sums:
            why = "its blocks are a part of another loop"
        refusals.append(Refusal("parallel", None, why))
    if apart and (apart[0] == 0 or not few):
        return apart[0], False
    return 0, True
