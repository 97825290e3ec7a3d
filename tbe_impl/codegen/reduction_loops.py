"""Orders the loops of a reduction inside those of its result: along memory, or as requested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tbe_impl.codegen.axis_merging import Accesses, merged
from tbe_impl.codegen.loop_orders import ORDER, STEPS_MAX, Level, Refusal, cleaned, is_whole
from tbe_impl.codegen.options import LoopChoice
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly

SHORTEST_BLOCK = 16
"""Neighbours in memory that are worth a loop of their own: vectors of the usual kind hold as many."""

Axes = Sequence[tuple[int, Poly]]
"""Serial number and extent of each axis."""


@dataclass(frozen=True)
class SumLoops:
    """How a reduction goes through what it sums up.

    Attributes:
        levels: its loops, the outermost first.
        vector: which of them runs over neighbours in memory.
        runs: serial number of a reduced axis → that of the index that runs over it and its neighbours.
        loops: serial number and extent of each index that the loops move.
        refusals: what was asked for and is not followed.
    """

    levels: tuple[Level, ...]
    vector: int
    runs: Mapping[int, int]
    loops: tuple[tuple[int, Poly], ...]
    refusals: tuple[Refusal, ...] = ()

    def indices(self, axes: Axes) -> dict[int, Poly]:
        """Serial number of each axis → what it is in terms of the loops."""
        return {s: Poly.variable(s) if self.runs.get(s) == s else ZERO for s, _ in axes}


def natural_sum(axes: Axes, found: Accesses) -> SumLoops:
    """The axes in their order, neighbours together where one loop can run over both."""
    long = [item for item in axes if item[1] != ONE] or [*axes[-1:]]
    groups = merged(long, found)
    runs: dict[int, int] = {}
    loops = []
    for group in groups:
        serial, extent = group[-1][0], ONE
        for _, size in group:
            extent = extent * size
        loops.append((serial, extent))
        runs |= {item: serial for item, _ in group}
    levels = tuple(Level(((serial, 1),)) for serial, _ in loops)
    return SumLoops(levels, len(levels) - 1, runs, tuple(loops))


def asked_sum(choices: Sequence[LoopChoice], axes: Axes, found: Accesses) -> SumLoops:
    """The loops that `choices` ask for, in terms of the axes.

    Neighbours that follow each other are one loop as ever where nothing is asked of them.
    """
    plain = natural_sum(axes, found)
    extents = {serial: extent for serial, extent in axes if extent != ONE}
    loops, refusals = cleaned(choices, extents)
    if not extents or not is_whole(loops, extents):
        why = (
            "it takes one step"
            if not extents
            else "a block's steps come before the loop over blocks"
        )
        return replace(plain, refusals=tuple(Refusal(verb, None, why) for verb in ORDER))
    loops = _without_short_blocks(loops, found, refusals)
    blocked = {serial for loop in loops for serial, step in loop.parts if step > 1}
    if not any(_is_plain(loop, blocked, extents, found) for loop in loops):
        loops = ending_in_one(loops, refusals)
    runs: dict[int, int] = {}
    steps: list[tuple[int, Poly]] = []
    levels = []
    for loop, together in _runs(loops, blocked, extents, found):
        if together:
            extent = ONE
            for serial in together:
                extent = extent * extents[serial]
            steps.append((together[-1], extent))
            runs |= dict.fromkeys(together, together[-1])
            parts: tuple[tuple[int, int], ...] = ((together[-1], 1),)
        else:
            parts = loop.parts
            own = [serial for serial, step in parts if step == 1]
            steps += [(serial, extents[serial]) for serial in own]
            runs |= {serial: serial for serial in own}
        levels.append(Level(parts, min(loop.unroll, STEPS_MAX) if loop.unroll > 1 else 0))
    return SumLoops(tuple(levels), _neighbours(levels, found), runs, tuple(steps), tuple(refusals))


def _without_short_blocks(
    loops: Sequence[LoopChoice], found: Accesses, refusals: list[Refusal]
) -> list[LoopChoice]:
    """Without loops over a few neighbours each that are followed by the loop over these: their steps come in the same order."""
    kept: list[LoopChoice] = []
    for loop in loops:
        before = kept[-1] if kept else None
        single = len(loop.parts) == 1 and before is not None and len(before.parts) == 1
        if single and before is not None and before.parts[0][0] == loop.parts[0][0]:
            ((serial, step),) = before.parts
            near = any(address.coefficient(serial) == ONE for _, address in found.addresses)
            if loop.parts[0][1] == 1 and step < SHORTEST_BLOCK and near:
                why = f"blocks of fewer than {SHORTEST_BLOCK} neighbours are no loop: their steps come in the same order"
                refusals.append(Refusal("split", serial, why))
                kept[-1] = replace(loop, unroll=max(loop.unroll, before.unroll))
                continue
        kept.append(loop)
    return kept


def _is_plain(
    loop: LoopChoice, blocked: set[int], extents: Mapping[int, Poly], found: Accesses
) -> bool:
    """Whether vectors can run over its steps: those of one axis, or of fused ones that are one loop in memory."""
    serials = [serial for serial, _ in loop.parts]
    if len(serials) == 1:
        return loop.parts[0][1] == 1
    return not blocked & set(serials) and _is_one(serials, extents, found)


def ending_in_one(loops: Sequence[LoopChoice], refusals: list[Refusal]) -> list[LoopChoice]:
    """With the last part of the last, fused loop in a loop of its own: vectors run over its steps."""
    *others, last = loops
    *rest, end = last.parts
    refusals.append(Refusal("fuse", None, "the innermost loop runs over neighbours in memory"))
    return [*others, replace(last, parts=tuple(rest), tiles=()), replace(last, parts=(end,))]


def _runs(
    loops: Sequence[LoopChoice], blocked: set[int], extents: Mapping[int, Poly], found: Accesses
) -> Iterator[tuple[LoopChoice, list[int]]]:
    """Loops with the axes that each of them runs over as one; none where it stands alone as it is asked for."""
    waiting: list[int] = []
    last: LoopChoice | None = None
    for loop in (*loops, None):
        serials = [serial for serial, _ in loop.parts] if loop is not None else []
        whole = loop is not None and not blocked & set(serials) and _is_one(serials, extents, found)
        joined = whole and waiting and _is_one([*waiting, *serials], extents, found)
        if last is not None and waiting and not joined:
            yield last, waiting
            waiting = []
        if loop is None:
            return
        if whole:
            waiting, last = [*waiting, *serials], loop
        else:
            yield loop, []


def _is_one(serials: Sequence[int], extents: Mapping[int, Poly], found: Accesses) -> bool:
    return len(merged([(serial, extents[serial]) for serial in serials], found)) == 1


def _neighbours(levels: Sequence[Level], found: Accesses) -> int:
    """The level over most neighbours in memory, and fewest jumps; the innermost of several."""
    best, place = None, len(levels) - 1
    for number, level in enumerate(levels):
        if len(level.parts) > 1 or level.parts[0][1] > 1:
            continue
        serial = level.parts[0][0]
        steps = [address.coefficient(serial) for _, address in found.addresses]
        score = sum(step == ONE for step in steps) - sum(step not in (ZERO, ONE) for step in steps)
        if best is None or score >= best:
            best, place = score, number
    return place
