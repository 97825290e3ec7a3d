"""Applies requested loop orders to a nest, where results stay correct and vectors stay long.

A block is a loop over first elements, and the loop over its elements runs to the block's end: addresses know nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tbe_impl.codegen.axis_merging import Accesses, merged, size_poly
from tbe_impl.codegen.options import LoopChoice
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import Tensor

SHORTEST_RUN = 256
"""Steps of the innermost loop below which its beginning and its end cost more than an order can gain."""

CACHE_BYTES = 1 << 20
"""What a core's own cache holds."""

ORDER = ("split", "fuse", "reorder")
"""What says in which order a schedule wants its loops."""

VECTORS_MAX, STEPS_MAX = 8, 16
"""How many vectors, or steps of another loop, stand in the code one after the other at most."""


@dataclass(frozen=True)
class Level:
    """One loop of a nest as it stands in C.

    Attributes:
        parts: serial number of each index that it moves, and by how much at once; several where loops are fused.
        unroll: steps, or vectors of the innermost loop, that stand in the code one after the other; 0 for the default.
        tiles: numbers of the stages of which a tile is computed in each of its steps.
    """

    parts: tuple[tuple[int, int], ...]
    unroll: int = 0
    tiles: tuple[int, ...] = ()

    @property
    def variables(self) -> frozenset[int]:
        """The indices that it changes."""
        return frozenset(serial for serial, _ in self.parts)

    @property
    def settled(self) -> frozenset[int]:
        """Those of them that no loop inside moves."""
        return frozenset(serial for serial, step in self.parts if step == 1)


@dataclass(frozen=True)
class Refusal:
    """What is not followed: a verb of the schedule, the axis that it is about (None for all), and why."""

    verb: str
    axis: int | None
    why: str


@dataclass(frozen=True)
class Plan:
    """The loops of a nest.

    Attributes:
        loops: serial number and extent of each index, in the order of the innermost loops that move them.
        levels: the loops, outermost first; empty where there is nothing to loop over.
        shared: which of them threads share.
        grain: steps of it that stay on one thread; 0 for the default.
        merged: serial number of an axis → that of the index which runs over it and its neighbours.
        refusals: what was asked for and is not followed.
    """

    loops: tuple[tuple[int, Poly], ...]
    levels: tuple[Level, ...]
    shared: int = 0
    grain: int = 0
    merged: Mapping[int, int] | None = None
    refusals: tuple[Refusal, ...] = ()


def natural(axes: Sequence[tuple[int, Poly]], found: Accesses) -> Plan:
    """The loops in the order of the axes, neighbours merged where one loop can run over both."""
    loops: list[tuple[int, Poly]] = []
    serials: dict[int, int] = {}
    for items in merged(axes, found):
        extent = ONE
        for _, size in items:
            extent = extent * size
        loops.append((items[-1][0], extent))
        serials |= {serial: items[-1][0] for serial, _ in items}
    levels = tuple(Level(((serial, 1),)) for serial, _ in loops)
    return Plan(tuple(loops), levels, merged=serials)


def refused(plan: Plan, choices: Sequence[LoopChoice], why: str) -> Plan:
    """`plan` for a nest that keeps its own loops."""
    verbs = [*ORDER]
    verbs += ["parallel"] if any(choice.shared for choice in choices) else []
    verbs += ["unroll"] if any(choice.unroll for choice in choices) else []
    return replace(plan, refusals=tuple(Refusal(verb, None, why) for verb in verbs))


def ordered(
    axes: Sequence[tuple[int, Poly]],
    found: Accesses,
    choices: Sequence[LoopChoice],
    *,
    vector: bool,
) -> Plan:
    """The loops that `choices` ask for, as far as they can be had.

    Args:
        axes: serial number and extent of each axis that is longer than one step.
        found: the accesses of the nest.
        choices: the loops; their parts name axes by serial number.
        vector: whether the innermost loop runs over vectors.
    """
    plain = natural(axes, found)
    return _Ordering(dict(axes), found, plain, vector=vector).plan(choices)


def cleaned(
    choices: Sequence[LoopChoice], extents: Mapping[int, Poly]
) -> tuple[list[LoopChoice], list[Refusal]]:
    """Loops without axes of one step, and without blocks that hold the whole axis; and what is lost with them."""
    loops, refusals = [], []
    for choice in choices:
        parts = []
        for serial, step in choice.parts:
            size = extents[serial].constant if serial in extents else 1
            if size != 1 and (step == 1 or size is None or step < size):
                parts.append((serial, step))
        if parts:
            loops.append(replace(choice, parts=tuple(parts)))
        elif choice.tiles and loops:
            loops[-1] = replace(loops[-1], tiles=(*loops[-1].tiles, *choice.tiles))
        elif choice.shared and choice.parts:
            refusals.append(Refusal("parallel", choice.parts[0][0], "it takes one step"))
    return loops, refusals


def is_whole(loops: Sequence[LoopChoice], extents: Mapping[int, Poly]) -> bool:
    """Whether they run over each axis once, from larger blocks to smaller ones to steps, each in a loop further in."""
    steps: dict[int, list[int]] = {serial: [] for serial in extents}
    for loop in loops:
        if len(dict(loop.parts)) < len(loop.parts):
            return False
        for serial, step in loop.parts:
            steps[serial].append(step)
    return all(
        found[-1:] == [1] and found == sorted(set(found), reverse=True) for found in steps.values()
    )


class _Ordering:
    def __init__(self, extents: dict[int, Poly], found: Accesses, plain: Plan, *, vector: bool):
        self.extents, self.found, self.plain, self.vector = extents, found, plain, vector
        self.last = next(reversed(extents))
        self.refusals: list[Refusal] = []

    def plan(self, choices: Sequence[LoopChoice]) -> Plan:
        loops, self.refusals = cleaned(choices, self.extents)
        if not is_whole(loops, self.extents):
            return refused(self.plain, choices, "a block's steps come before the loop over blocks")
        if self.vector:
            loops = self._vector_last(self._long_blocks(loops))
        loops = self._joined(loops)
        groups = self._merged(loops)
        why = self._why_not(groups)
        if why:
            marks = {loop.parts[-1][0]: loop for loop in loops if loop.shared or loop.unroll}
            plain = [LoopChoice(((serial, 1),)) for serial in self.extents]
            groups = self._merged(
                [replace(marks.get(loop.parts[0][0], loop), parts=loop.parts) for loop in plain]
            )
            for verb in ORDER:
                self._refuse(verb, None, why)
        return self._written(groups)

    def _refuse(self, verb: str, axis: int | None, why: str) -> None:
        self.refusals.append(Refusal(verb, axis, why))

    def _long_blocks(self, loops: Sequence[LoopChoice]) -> list[LoopChoice]:
        """Without blocks of the innermost axis that begin inside a vector, or hold a few vectors only."""
        kept = []
        for loop in loops:
            short = [
                part
                for part in loop.parts
                if part[0] == self.last and part[1] > 1 and (part[1] < SHORTEST_RUN or part[1] % 64)
            ]
            if short:
                why = f"blocks of the innermost axis take a multiple of 64 steps, at least {SHORTEST_RUN}"
                self._refuse("split", self.last, why)
                parts = tuple(part for part in loop.parts if part not in short)
                if not parts:
                    continue
                loop = replace(loop, parts=parts)
            kept.append(loop)
        return kept

    def _vector_last(self, loops: Sequence[LoopChoice]) -> list[LoopChoice]:
        """With single steps of the innermost axis in the innermost loop, alone."""
        end = LoopChoice(((self.last, 1),))
        blocked = _blocked(loops)
        kept = []
        for loop in loops:
            if (self.last, 1) not in loop.parts:
                kept.append(loop)
                continue
            rest = tuple(part for part in loop.parts if part != (self.last, 1))
            is_last = loop is loops[-1] and loop.parts[-1] == (self.last, 1)
            if not is_last:
                self._refuse("reorder", None, "neighbours in memory are steps of another loop")
            if not rest or (is_last and self._is_one(loop.parts) and not blocked & set(dict(rest))):
                end = loop
            else:
                self._refuse("fuse", None, "the innermost loop runs over neighbours in memory")
                kept.append(replace(loop, parts=rest))
        return [*kept, end]

    def _is_one(self, parts: Sequence[tuple[int, int]]) -> bool:
        """Whether fused loops are one loop without a division."""
        axes = [(serial, self.extents[serial]) for serial, step in parts if step == 1]
        return len(axes) == len(parts) and len(merged(axes, self.found)) == 1

    def _joined(self, loops: Sequence[LoopChoice]) -> list[LoopChoice]:
        """Without loops over blocks that are followed by the loop over their elements."""
        found: list[LoopChoice] = []
        for loop in loops:
            before = found[-1] if found else None
            same = (
                before is not None
                and len(before.parts) == len(loop.parts) == 1
                and before.parts[0][0] == loop.parts[0][0]
            )
            if before is None or not same:
                found.append(loop)
                continue
            grain = before.parts[0][1] if before.shared else loop.grain
            found[-1] = replace(loop, shared=before.shared or loop.shared, grain=grain)
        return found

    def _merged(self, loops: Sequence[LoopChoice]) -> list[tuple[LoopChoice, list[int]]]:
        """Loops with the axes that each of them runs over as one."""
        blocked = _blocked(loops)
        groups: list[tuple[LoopChoice, list[int]]] = []
        for loop in loops:
            serials = [serial for serial, _ in loop.parts]
            if not self._is_one(loop.parts) or blocked & set(serials):
                groups.append((loop, []))
                continue
            before = groups[-1] if groups else None
            joined = (
                before is not None
                and before[1]
                and self._is_one([(s, 1) for s in (*before[1], *serials)])
            )
            if before is not None and joined:
                shared = before[0].shared or loop.shared
                groups[-1] = (replace(loop, shared=shared), [*before[1], *serials])
            else:
                groups.append((loop, serials))
        return groups

    def _why_not(self, groups: Sequence[tuple[LoopChoice, list[int]]]) -> str:
        """Why the order would only cost time; empty where it may gain some."""
        steps = [
            part
            for loop, together in groups
            for part in ([(together[-1], 1)] if together else loop.parts)
        ]
        if steps == [(serial, 1) for serial, _ in self.plain.loops]:
            return ""
        if not self._may_gain():
            return "what is read again is still in a cache: the order of memory is the fastest"
        own = self.plain.loops[-1][1].constant
        loop, serials = groups[-1]
        run = self._extent(serials or [loop.parts[-1][0]]).constant
        if self.vector and run is not None and run < SHORTEST_RUN and (own is None or run < own):
            return f"the innermost loop would take fewer than {SHORTEST_RUN} steps"
        return ""

    def _may_gain(self) -> bool:
        """Whether something lies in memory in another order than the results, or leaves a cache before it is read again."""
        axes = list(self.extents)
        for tensor, address in self.found.addresses:
            steps = [address.coefficient(serial) or ZERO for serial in axes]
            known = [step.constant for step in steps if step != ZERO]
            if None not in known and known != sorted(known, key=lambda step: -(step or 0)):
                return True
            for place, step in enumerate(steps):
                if step == ZERO and self._between(tensor, address, axes[place + 1 :]) > CACHE_BYTES:
                    return True
        return False

    def _between(self, tensor: Tensor, address: Poly, inner: Sequence[int]) -> float:
        """Bytes of a tensor that are read between two readings of the same element; infinite for sizes of run time."""
        moving = [serial for serial in inner if serial in address.variables]
        sizes = [self.extents[serial].constant for serial in moving]
        if address.variables - self.extents.keys():  # a reduction inside reads more
            known = [size_poly(size) for size in tensor.shape]
            sizes = [size.constant if size is not None else None for size in known]
        if None in sizes:
            return math.inf
        return math.prod(size or 0 for size in sizes) * dtype_of(tensor.dtype).bytes

    def _extent(self, serials: Sequence[int]) -> Poly:
        extent = ONE
        for serial in serials:
            extent = extent * self.extents[serial]
        return extent

    def _written(self, groups: Sequence[tuple[LoopChoice, list[int]]]) -> Plan:
        loops: list[tuple[int, Poly]] = []
        levels: list[Level] = []
        serials: dict[int, int] = {}
        shared, grain = 0, 0
        for number, (loop, together) in enumerate(groups):
            is_last = self.vector and number == len(groups) - 1
            parts = ((together[-1], 1),) if together else loop.parts
            if together:
                loops.append((together[-1], self._extent(together)))
                serials |= dict.fromkeys(together, together[-1])
            else:
                for serial, step in parts:
                    if step == 1:
                        loops.append((serial, self.extents[serial]))
                        serials[serial] = serial
            unroll = min(loop.unroll // 16, VECTORS_MAX) if is_last else min(loop.unroll, STEPS_MAX)
            levels.append(Level(parts, unroll if unroll > 1 else 0))
            if loop.shared:
                shared = number
                grain = max(loop.grain, *(step for _, step in parts)) if len(parts) == 1 else 1
                grain = 1 if len(together) > 1 else grain
        return Plan(
            tuple(loops),
            tuple(levels),
            self._shared(levels, shared),
            grain,
            serials,
            tuple(self.refusals),
        )

    def _shared(self, levels: Sequence[Level], wanted: int) -> int:
        """Where threads part: the outermost loop over what the wanted one moves."""
        moved = levels[wanted].variables
        first = next(number for number, level in enumerate(levels) if level.variables & moved)
        if levels[first].variables == moved:
            return first
        self._refuse("parallel", None, "its blocks are a part of another loop")
        return 0


def _blocked(loops: Sequence[LoopChoice]) -> set[int]:
    """The axes that some loop goes over block by block."""
    return {serial for loop in loops for serial, step in loop.parts if step > 1}
