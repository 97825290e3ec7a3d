"""Loops of a result and of its reduction in the order that a schedule fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tbe_impl.codegen.axis_merging import Accesses
from tbe_impl.codegen.loop_orders import STEPS_MAX, Level, Plan, Refusal, cleaned, is_whole
from tbe_impl.codegen.options import LoopChoice
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.reduction_loops import ending_in_one

SHARED_MAX = 1 << 16
"""Results up to which each thread may sum up in rows of its own."""


@dataclass(frozen=True)
class ExactLoops:
    """Where in the levels of a nest what is.

    Attributes:
        inside: how many levels stand around the loops in which one element is summed up.
        first_sum: the first level that goes over what is summed up; the number of levels where none does.
        vector: the level that runs over neighbours in memory.
        together: whether threads sum up in rows of their own, which are put together in the end.
        jumps: whether what is read lies apart even along that level.
    """

    inside: int
    first_sum: int
    vector: int
    together: bool
    jumps: bool = False

    @property
    def keeps_rows(self) -> bool:
        """Whether sums lie in memory while other loops run."""
        return self.first_sum < self.inside


def exact_plan(
    axes: Sequence[tuple[int, Poly]],
    summed: Sequence[tuple[int, Poly]],
    choices: Sequence[LoopChoice],
    found: Accesses,
) -> tuple[Plan, ExactLoops] | None:
    """The loops; None where `choices` are for another stage, or there are no results to loop over.

    Args:
        axes, summed: serial number and extent of each axis, and of each that is reduced.
        choices: the loops, in terms of serial numbers.
        found: what is read.
    """
    extents = {serial: extent for serial, extent in (*axes, *summed) if extent != ONE}
    over_sums = {serial for serial, _ in summed}
    loops, refusals = cleaned(choices, extents)
    if not loops or not is_whole(loops, extents):
        return None
    if _near(loops, over_sums, found) is None:
        loops = ending_in_one(loops, refusals)
    serials = [{serial for serial, _ in loop.parts} for loop in loops]
    inside, first_sum = _places(loops, over_sums)
    vector = _near(loops, over_sums, found)
    if not inside or vector is None:
        return None
    levels = tuple(
        Level(loop.parts, min(loop.unroll, STEPS_MAX) if loop.unroll > 1 else 0, loop.tiles)
        for loop in loops
    )
    count = ONE
    for _, extent in axes:
        count = count * extent
    few = count.constant is not None and count.constant <= SHARED_MAX
    shared, together = _shared(loops, serials, over_sums, refusals, few=few)
    grain = loops[shared].parts[0][1] if len(loops[shared].parts) == 1 else 1
    if loops[shared].shared:
        grain = max(grain, loops[shared].grain)
    indices = [serial for loop in loops for serial, step in loop.parts if step == 1]
    merged = {serial: serial for serial in indices}
    plan = Plan(
        tuple((serial, extents[serial]) for serial in indices),
        levels,
        shared,
        grain if grain > 1 else 0,
        merged,
        tuple(refusals),
    )
    return plan, ExactLoops(inside, first_sum, vector, together, _jumps(loops[vector], found))


def _places(loops: Sequence[LoopChoice], over_sums: set[int]) -> tuple[int, int]:
    """How many loops stand around those over nothing but sums, and the first that goes over sums."""
    sums = [{serial for serial, _ in loop.parts} & over_sums for loop in loops]
    others = [{serial for serial, _ in loop.parts} - over_sums for loop in loops]
    inside = max((place + 1 for place, own in enumerate(others) if own), default=0)
    return inside, next((place for place, own in enumerate(sums) if own), len(loops))


def _near(loops: Sequence[LoopChoice], over_sums: set[int], found: Accesses) -> int | None:
    """The level that vectors run over: most reads of neighbours, fewest jumps; of several one over results, far inside.

    Where sums lie in memory, it is not around them. A loop over what is summed up can be it only where nothing but sums
    stands inside. None where every loop is one of several fused ones, or over blocks.
    """
    inside, first_sum = _places(loops, over_sums)
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
        steps = [address.coefficient(serial) for _, address in found.addresses]
        score = sum(one == ONE for one in steps) - sum(one not in (ZERO, ONE) for one in steps)
        rank = (score, not is_sum, number)
        if best is None or rank >= best:
            best, place = rank, number
    return place


def _jumps(loop: LoopChoice, found: Accesses) -> bool:
    steps = [address.coefficient(loop.parts[0][0]) for _, address in found.addresses]
    return ONE not in steps and any(step != ZERO for step in steps)


def _shared(
    loops: Sequence[LoopChoice],
    serials: Sequence[set[int]],
    over_sums: set[int],
    refusals: list[Refusal],
    *,
    few: bool,
) -> tuple[int, bool]:
    """Which level threads share, and whether they then add to the same results."""
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
