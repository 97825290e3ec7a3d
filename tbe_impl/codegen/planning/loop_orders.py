"""Applies a requested loop order to a nest if results stay correct and vector loops stay long.

A block loop steps from block to block. The element loop inside the block loop runs over the
elements of one block. The index of the element loop counts elements of the whole axis, so addresses
do not depend on the block size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tbe_impl.codegen.options import LoopChoice
from tbe_impl.codegen.planning.access_analysis import Accesses, merge_axes, size_poly
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.records import Record

MIN_INNERMOST_STEPS = 256
"""Minimum trip count of the innermost loop.

In a shorter loop, the start-up and the remainder cost more time than a new order can save.
"""

CORE_CACHE_BYTES = 1 << 20
"""Size in bytes of a core's private cache."""

ORDER_VERBS = ("split", "fuse", "reorder")
"""Schedule methods that request a loop order."""

MAX_UNROLLED_VECTORS, MAX_UNROLLED_STEPS = 8, 16
"""Maximum unroll factors: in vectors for the innermost loop, in iterations for any other loop."""


class Level(Record):
    """One loop of a nest in the generated C.

    Attributes:
        parts: one pair (serial number of the index, step) for each index that the loop changes. A
            fused loop changes several indices.
        unroll: unroll factor, which counts vectors in the innermost loop and iterations in any
            other loop; 0 for the default.
        tiles: numbers of the results that are computed tile by tile inside the loop; see
            `tbe_impl.codegen.program.numbered_results`.
    """

    parts: tuple[tuple[int, int], ...]
    unroll: int = 0
    tiles: tuple[int, ...] = ()

    @property
    def variables(self) -> frozenset[int]:
        """The serial numbers of the indices that the loop changes."""
        return frozenset(serial for serial, _ in self.parts)

    @property
    def final_variables(self) -> frozenset[int]:
        """The serial numbers of the indices that this loop, but no inner loop, changes."""
        return frozenset(serial for serial, step in self.parts if step == 1)


class Refusal(Record):
    """A schedule request that is not followed.

    Attributes:
        verb: name of the schedule method, such as ``split``.
        axis: serial number of the axis; None if the request concerns all axes.
        why: the reason, as text.
    """

    verb: str
    axis: int | None
    why: str


class LoopPlan(Record):
    """The loops of a nest.

    Attributes:
        loops: one pair (serial number, extent) for each loop index, in the order of the element
            loops. The order of the block loops has no influence on this list.
        levels: the loops, outermost first; empty for a nest without loops.
        shared: position in `levels` of the parallel loop.
        grain: number of consecutive iterations of the parallel loop that stay on one thread; 0 for
            the default.
        merged: maps the serial number of an axis to the serial number of its loop index. Merged
            axes have the same loop index.
        refusals: schedule requests that the plan does not follow.
    """

    loops: tuple[tuple[int, Poly], ...]
    levels: tuple[Level, ...]
    shared: int = 0
    grain: int = 0
    merged: Mapping[int, int] | None = None
    refusals: tuple[Refusal, ...] = ()


def plan_natural_order(axes: Sequence[tuple[int, Poly]], found: Accesses) -> LoopPlan:
    """Plans the loops in axis order and merges adjacent axes where one loop can cover both."""
    loops: list[tuple[int, Poly]] = []
    serials: dict[int, int] = {}
    for items in merge_axes(axes, found):
        loops.append((items[-1][0], math.prod((size for _, size in items), start=ONE)))
        serials |= {serial: items[-1][0] for serial, _ in items}
    levels = tuple(Level(((serial, 1),)) for serial, _ in loops)
    return LoopPlan(tuple(loops), levels, merged=serials)


def refuse_order(plan: LoopPlan, choices: Sequence[LoopChoice], why: str) -> LoopPlan:
    """Returns a copy of `plan` whose refusals say that the requested loop order is not followed.

    The copy has one refusal for each schedule method in `ORDER_VERBS`. The copy also has one
    refusal for ``parallel`` and one for ``unroll``, if `choices` request these. `why` is the reason
    in every refusal.
    """
    verbs = [*ORDER_VERBS]
    verbs += ["parallel"] if any(choice.shared for choice in choices) else []
    verbs += ["unroll"] if any(choice.unroll for choice in choices) else []
    return replace(plan, refusals=tuple(Refusal(verb, None, why) for verb in verbs))


def plan_requested_order(
    axes: Sequence[tuple[int, Poly]],
    found: Accesses,
    choices: Sequence[LoopChoice],
    *,
    vector: bool,
) -> LoopPlan:
    """Plans the loops that `choices` request.

    Requests that cannot be followed are in the `refusals` of the plan.

    Args:
        axes: one pair (serial number, extent) for each axis longer than one.
        found: the memory accesses of the nest.
        choices: the requested loops. They identify axes by serial number.
        vector: whether the innermost loop is vectorized.
    """
    plain = plan_natural_order(axes, found)
    return _OrderPlanner(dict(axes), found, plain, vector=vector).plan(choices)


def drop_trivial_loops(
    choices: Sequence[LoopChoice], extents: Mapping[int, Poly]
) -> tuple[list[LoopChoice], list[Refusal]]:
    """Drops axes of extent 1 and block loops whose block is a whole axis.

    Returns a pair (remaining loops, refused requests).
    """
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


def is_complete_order(loops: Sequence[LoopChoice], extents: Mapping[int, Poly]) -> bool:
    """Returns whether the loops cover every axis.

    The loops cover an axis if their block sizes for this axis decrease from outer to inner loops
    and end with 1.
    """
    steps: dict[int, list[int]] = {serial: [] for serial in extents}
    for loop in loops:
        if len(dict(loop.parts)) < len(loop.parts):
            return False
        for serial, step in loop.parts:
            steps[serial].append(step)
    return all(
        found[-1:] == [1] and found == sorted(set(found), reverse=True) for found in steps.values()
    )


def blocked_axes(loops: Sequence[LoopChoice]) -> set[int]:
    """Returns the axes that have a block loop."""
    return {serial for loop in loops for serial, step in loop.parts if step > 1}


def is_collapsible(serials: Sequence[int], extents: Mapping[int, Poly], found: Accesses) -> bool:
    """Returns whether one loop without divisions can cover axes that have no block loops."""
    return len(merge_axes([(serial, extents[serial]) for serial in serials], found)) == 1


def collapse_loops(
    loops: Sequence[LoopChoice], extents: Mapping[int, Poly], found: Accesses
) -> list[tuple[LoopChoice, list[int]]]:
    """Merges adjacent loops where one loop can cover both.

    Returns a pair for each resulting loop: the loop, and the list of the axes that its index
    covers. A loop that cannot have a single index, such as a block loop, stays unchanged and has an
    empty list.
    """
    blocked = blocked_axes(loops)
    groups: list[tuple[LoopChoice, list[int]]] = []
    for loop in loops:
        serials = [serial for serial, _ in loop.parts]
        is_one = not blocked & set(serials) and is_collapsible(serials, extents, found)
        before, together = groups[-1] if groups else (loop, [])
        if is_one and together and is_collapsible([*together, *serials], extents, found):
            shared = before.shared or loop.shared
            groups[-1] = (replace(loop, shared=shared), [*together, *serials])
        else:
            groups.append((loop, serials if is_one else []))
    return groups


def contiguity_score(serial: int, found: Accesses) -> int:
    """Returns (number of contiguous accesses) − (number of strided accesses) along a loop."""
    steps = [address.coefficient(serial) for _, address in found.addresses]
    return sum(step == ONE for step in steps) - sum(step not in (ZERO, ONE) for step in steps)


def unroll_factor(loop: LoopChoice) -> int:
    """Returns the unroll factor of a loop that is not the vector loop; 0 for the default."""
    return min(loop.unroll, MAX_UNROLLED_STEPS) if loop.unroll > 1 else 0


class _OrderPlanner:
    def __init__(self, extents: dict[int, Poly], found: Accesses, plain: LoopPlan, *, vector: bool):
        self.extents, self.found, self.plain, self.vector = extents, found, plain, vector
        self.last = next(reversed(extents))
        self.refusals: list[Refusal] = []

    def plan(self, choices: Sequence[LoopChoice]) -> LoopPlan:
        loops, self.refusals = drop_trivial_loops(choices, self.extents)
        if not is_complete_order(loops, self.extents):
            return refuse_order(
                self.plain, choices, "a block's steps come before the loop over blocks"
            )
        if self.vector:
            loops = self._move_vector_axis_innermost(self._drop_short_blocks(loops))
        loops = self._drop_redundant_block_loops(loops)
        groups = collapse_loops(loops, self.extents, self.found)
        why = self._refusal_reason(groups)
        if why:
            marks = {loop.parts[-1][0]: loop for loop in loops if loop.shared or loop.unroll}
            plain = [LoopChoice(((serial, 1),)) for serial in self.extents]
            marked = [
                replace(marks.get(loop.parts[0][0], loop), parts=loop.parts) for loop in plain
            ]
            groups = collapse_loops(marked, self.extents, self.found)
            for verb in ORDER_VERBS:
                self._refuse(verb, None, why)
        return self._build_plan(groups)

    def _refuse(self, verb: str, axis: int | None, why: str) -> None:
        self.refusals.append(Refusal(verb, axis, why))

    def _drop_short_blocks(self, loops: Sequence[LoopChoice]) -> list[LoopChoice]:
        """Drops a block loop over the innermost axis if its block size is no multiple of 64.

        The loop is also dropped if its blocks are short.
        """
        kept = []
        for loop in loops:
            short = [
                part
                for part in loop.parts
                if part[0] == self.last
                and part[1] > 1
                and (part[1] < MIN_INNERMOST_STEPS or part[1] % 64)
            ]
            if short:
                why = (
                    "blocks of the innermost axis take a multiple of 64 steps, "
                    f"at least {MIN_INNERMOST_STEPS}"
                )
                self._refuse("split", self.last, why)
                parts = tuple(part for part in loop.parts if part not in short)
                if not parts:
                    continue
                loop = replace(loop, parts=parts)
            kept.append(loop)
        return kept

    def _move_vector_axis_innermost(self, loops: Sequence[LoopChoice]) -> list[LoopChoice]:
        """Makes the loop over single elements of the innermost axis the innermost loop."""
        end = LoopChoice(((self.last, 1),))
        blocked = blocked_axes(loops)
        kept = []
        for loop in loops:
            if (self.last, 1) not in loop.parts:
                kept.append(loop)
                continue
            rest = tuple(part for part in loop.parts if part != (self.last, 1))
            is_last = loop is loops[-1] and loop.parts[-1] == (self.last, 1)
            if not is_last:
                self._refuse("reorder", None, "neighbours in memory are steps of another loop")
            if not rest or (
                is_last
                and not blocked & set(dict(rest))
                and is_collapsible([*dict(loop.parts)], self.extents, self.found)
            ):
                end = loop
            else:
                self._refuse("fuse", None, "the innermost loop runs over neighbours in memory")
                kept.append(replace(loop, parts=rest))
        return [*kept, end]

    def _drop_redundant_block_loops(self, loops: Sequence[LoopChoice]) -> list[LoopChoice]:
        """Drops a block loop if the next inner loop runs over the elements of the same blocks."""
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

    def _refusal_reason(self, groups: Sequence[tuple[LoopChoice, list[int]]]) -> str:
        """Returns the reason why the requested order cannot be faster than the axis order.

        Returns "" if the requested order can be faster.
        """
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
        if (
            self.vector
            and run is not None
            and run < MIN_INNERMOST_STEPS
            and (own is None or run < own)
        ):
            return f"the innermost loop would take fewer than {MIN_INNERMOST_STEPS} steps"
        return ""

    def _may_gain(self) -> bool:
        """Returns whether some loop order can be faster than the axis order.

        An order can be faster in two cases: an input is not read in the order of the result, or an
        element is evicted from a core's cache before it is read again.
        """
        axes = list(self.extents)
        for tensor, address in self.found.addresses:
            steps = [address.coefficient(serial) or ZERO for serial in axes]
            known = [step.constant for step in steps if step != ZERO]
            if None not in known and known != sorted(known, key=lambda step: -(step or 0)):
                return True
            for place, step in enumerate(steps):
                if (
                    step == ZERO
                    and self._reuse_distance_bytes(tensor, address, axes[place + 1 :])
                    > CORE_CACHE_BYTES
                ):
                    return True
        return False

    def _reuse_distance_bytes(self, tensor: Tensor, address: Poly, inner: Sequence[int]) -> float:
        """Returns the reuse distance of an element in bytes, or infinity for run-time sizes."""
        moving = [serial for serial in inner if serial in address.variables]
        sizes = [self.extents[serial].constant for serial in moving]
        if address.variables - self.extents.keys():  # a reduction inside the nest reads more
            known = [size_poly(size) for size in tensor.shape]
            sizes = [size.constant if size is not None else None for size in known]
        if None in sizes:
            return math.inf
        return math.prod(size or 0 for size in sizes) * dtype_of(tensor.dtype).bytes

    def _extent(self, serials: Sequence[int]) -> Poly:
        return math.prod((self.extents[serial] for serial in serials), start=ONE)

    def _build_plan(self, groups: Sequence[tuple[LoopChoice, list[int]]]) -> LoopPlan:
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
            unroll = min(loop.unroll // 16, MAX_UNROLLED_VECTORS)
            levels.append(
                Level(parts, unroll_factor(loop) if not is_last else unroll if unroll > 1 else 0)
            )
            if loop.shared:
                shared = number
                grain = max(loop.grain, *(step for _, step in parts)) if len(parts) == 1 else 1
                grain = 1 if len(together) > 1 else grain
        return LoopPlan(
            tuple(loops),
            tuple(levels),
            self._parallel_level(levels, shared),
            grain,
            serials,
            tuple(self.refusals),
        )

    def _parallel_level(self, levels: Sequence[Level], wanted: int) -> int:
        """Returns the level to run in parallel.

        `wanted` is the requested level. If `wanted` is the element loop inside a block loop over
        the same indices, the outermost loop over exactly these indices runs in parallel. If an
        outer loop changes only some of these indices, or also changes other indices, the request is
        refused. Level 0 then runs in parallel.
        """
        moved = levels[wanted].variables
        first = next(number for number, level in enumerate(levels) if level.variables & moved)
        if levels[first].variables == moved:
            return first
        self._refuse("parallel", None, "its blocks are a part of another loop")
        return 0
