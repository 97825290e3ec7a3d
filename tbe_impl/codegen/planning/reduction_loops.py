"""Orders the loops of a reduction, in memory order or in the order that a schedule requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tbe_impl.codegen.options import LoopChoice
from tbe_impl.codegen.planning.access_analysis import Accesses, merge_axes
from tbe_impl.codegen.planning.loop_orders import (
    ORDER_VERBS,
    Level,
    Refusal,
    blocked_axes,
    collapse_loops,
    contiguity_score,
    drop_trivial_loops,
    is_collapsible,
    is_complete_order,
    unroll_factor,
)
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.records import Record

MIN_BLOCK_STEPS = 16
"""Minimum number of contiguous elements in a block: the lanes of a typical vector.

A shorter block gets no loop of its own.
"""

AxisExtents = Sequence[tuple[int, Poly]]
"""One pair (serial number, extent) for each axis."""


class ReductionLoops(Record):
    """The loop order of a reduction.

    Attributes:
        levels: the loops, outermost first.
        vector: position in `levels` of the loop that is vectorized.
        runs: maps the serial number of a reduced axis (`IterVar.serial`) to the serial number of
            its loop index. Merged axes have the same loop index.
        loops: one pair (serial number of the index, extent) for each loop index.
        refusals: schedule requests that the order does not follow.
    """

    levels: tuple[Level, ...]
    vector: int
    runs: Mapping[int, int]
    loops: tuple[tuple[int, Poly], ...]
    refusals: tuple[Refusal, ...] = ()

    def indices(self, axes: AxisExtents) -> dict[int, Poly]:
        """Maps the serial number of each axis to its index as a polynomial in the loop indices."""
        return {s: Poly.variable(s) if self.runs.get(s) == s else ZERO for s, _ in axes}


def plan_natural_reduction(axes: AxisExtents, found: Accesses) -> ReductionLoops:
    """Plans the loops in axis order and merges adjacent axes where one loop can cover both."""
    long = [item for item in axes if item[1] != ONE] or [*axes[-1:]]
    groups = merge_axes(long, found)
    runs: dict[int, int] = {}
    loops = []
    for group in groups:
        serial = group[-1][0]
        loops.append((serial, math.prod((size for _, size in group), start=ONE)))
        runs |= {item: serial for item, _ in group}
    levels = tuple(Level(((serial, 1),)) for serial, _ in loops)
    return ReductionLoops(levels, len(levels) - 1, runs, tuple(loops))


def plan_requested_reduction(
    choices: Sequence[LoopChoice], axes: AxisExtents, found: Accesses
) -> ReductionLoops:
    """Plans the loops that `choices` request; `choices` identify axes by serial number.

    Adjacent loops over axes without block loops (loops that step from block to block) still merge
    where one loop can cover both. If `choices` do not cover every axis completely, the result has
    the loops of `plan_natural_reduction`, and `ReductionLoops.refusals` contains the reason.
    """
    plain = plan_natural_reduction(axes, found)
    extents = {serial: extent for serial, extent in axes if extent != ONE}
    loops, refusals = drop_trivial_loops(choices, extents)
    if not extents or not is_complete_order(loops, extents):
        why = (
            "it takes one step"
            if not extents
            else "a block's steps come before the loop over blocks"
        )
        return replace(plain, refusals=tuple(Refusal(verb, None, why) for verb in ORDER_VERBS))
    loops = _drop_short_blocks(loops, found, refusals)
    blocked = blocked_axes(loops)
    if not any(_is_vectorizable(loop, blocked, extents, found) for loop in loops):
        loops = split_innermost_part(loops, refusals)
    runs: dict[int, int] = {}
    steps: list[tuple[int, Poly]] = []
    levels = []
    for loop, together in collapse_loops(loops, extents, found):
        if together:
            extent = math.prod((extents[serial] for serial in together), start=ONE)
            steps.append((together[-1], extent))
            runs |= dict.fromkeys(together, together[-1])
            parts: tuple[tuple[int, int], ...] = ((together[-1], 1),)
        else:
            parts = loop.parts
            own = [serial for serial, step in parts if step == 1]
            steps += [(serial, extents[serial]) for serial in own]
            runs |= {serial: serial for serial in own}
        levels.append(Level(parts, unroll_factor(loop)))
    return ReductionLoops(
        tuple(levels), _vector_level(levels, found), runs, tuple(steps), tuple(refusals)
    )


def _drop_short_blocks(
    loops: Sequence[LoopChoice], found: Accesses, refusals: list[Refusal]
) -> list[LoopChoice]:
    """Drops a loop over short contiguous blocks that directly contains the loop over elements."""
    kept: list[LoopChoice] = []
    for loop in loops:
        before = kept[-1] if kept else None
        single = len(loop.parts) == 1 and before is not None and len(before.parts) == 1
        if single and before is not None and before.parts[0][0] == loop.parts[0][0]:
            ((serial, step),) = before.parts
            near = any(address.coefficient(serial) == ONE for _, address in found.addresses)
            if loop.parts[0][1] == 1 and step < MIN_BLOCK_STEPS and near:
                why = (
                    f"blocks of fewer than {MIN_BLOCK_STEPS} neighbours are no loop: "
                    "their steps come in the same order"
                )
                refusals.append(Refusal("split", serial, why))
                kept[-1] = replace(loop, unroll=max(loop.unroll, before.unroll))
                continue
        kept.append(loop)
    return kept


def _is_vectorizable(
    loop: LoopChoice, blocked: set[int], extents: Mapping[int, Poly], found: Accesses
) -> bool:
    """Returns whether a loop can be vectorized.

    A loop over one axis is vectorizable if it runs over single elements, not over blocks. A fused
    loop over several axes is vectorizable if none of these axes has a block loop, and one index
    without divisions can replace the indices of these axes.
    """
    serials = [serial for serial, _ in loop.parts]
    if len(serials) == 1:
        return loop.parts[0][1] == 1
    return not blocked & set(serials) and is_collapsible(serials, extents, found)


def split_innermost_part(loops: Sequence[LoopChoice], refusals: list[Refusal]) -> list[LoopChoice]:
    """Makes the last axis of the innermost fused loop a separate loop, for vectorization."""
    *others, last = loops
    *rest, end = last.parts
    refusals.append(Refusal("fuse", None, "the innermost loop runs over neighbours in memory"))
    return [*others, replace(last, parts=tuple(rest), tiles=()), replace(last, parts=(end,))]


def _vector_level(levels: Sequence[Level], found: Accesses) -> int:
    """Returns the position of the level (loop) that is best to vectorize.

    The score of a level is the number of accesses that are contiguous along it, minus the number of
    accesses that are strided along it. The level with the greatest score is chosen, and the
    innermost one if scores are equal. Fused loops and block loops are not considered.
    """
    best, place = None, len(levels) - 1
    for number, level in enumerate(levels):
        if len(level.parts) > 1 or level.parts[0][1] > 1:
            continue
        score = contiguity_score(level.parts[0][0], found)
        if best is None or score >= best:
            best, place = score, number
    return place
