"""Translates a schedule to codegen options: its requests as numbers of stages and axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tbe_impl.codegen.options import DEFAULT, LoopChoice, LoopOrder, Options
from tbe_impl.codegen.program import computed
from tbe_impl.dsl.expr import Const, IterVar, reads
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.scheduling.loop_requests import (
    AskedLoop,
    asked_loops,
    is_for_device,
    is_summed,
    mixes_sums,
    place_of,
    wants_tile,
)
from tbe_impl.scheduling.records import ScheduleRecord, StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL

FEW = 4
"""Steps of a loop without a known number of them that stand in the code one after the other."""


def outputs_of(
    record: ScheduleRecord, outputs: Sequence[Tensor], *, has_memories: bool = True
) -> tuple[Tensor, ...]:
    """The outputs as a schedule computes them here: with its copies, and its reductions in two steps.

    Args:
        record, outputs, has_memories: as for `options_of`.
    """
    if not _is_ours(record, outputs, has_memories) or not record.adds_stages:
        return tuple(outputs)
    graph = record.newest()
    return tuple(graph.get(id(tensor), tensor) for tensor in outputs)


def options_of(
    record: ScheduleRecord,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    base: Options = DEFAULT,
    *,
    has_memories: bool = True,
) -> Options:
    """`base` with what a schedule asks for; a schedule for the device asks for nothing.

    Args:
        record: the schedule.
        outputs, inputs: of the kernel. The options are for the graph of `outputs_of`.
        base: the other options.
        has_memories: whether the schedule was written for a chip with memories of its own.
    """
    if not _is_ours(record, outputs, has_memories):
        return base
    made = outputs_of(record, outputs, has_memories=has_memories)
    numbers = {id(item): number for number, item in enumerate(computed(made, inputs))}
    places: dict[str, list[int]] = {"memory": [], "inline": [], "row": []}
    orders = []
    tiles: dict[int, dict[int, tuple[int, ...]]] = {}
    for stage in record.stages:
        if stage.attach is not None and wants_tile(record, stage):
            number = numbers.get(id(stage.op.outputs[0]))
            at = tiles.setdefault(id(record.stage(stage.attach.parent)), {})
            if number is not None:
                at[id(stage.attach.axis)] = (*at.get(id(stage.attach.axis), ()), number)
    for stage in record.stages:
        own = [numbers[id(t)] for t in stage.op.outputs if id(t) in numbers]
        if not own:
            continue
        place = place_of(stage)
        if place == "row" and not wants_row(record, stage):
            place = ""
        if (
            place == "memory"
            and not stage.made_by
            and stage.scope == GLOBAL
            and not is_read_again(record, stage)
        ):
            place = ""
        if place:
            places[place] += own
        is_tile = wants_tile(record, stage)
        order = _order(stage, own[0], tiles.get(id(stage), {}), exactly=is_tile)
        if order.exact and not is_tile:
            places["memory"] += own
        if order != LoopOrder(own[0]) and (is_tile or place_of(stage) in ("", "memory")):
            orders.append(order)
    return replace(
        base,
        stored=tuple(dict.fromkeys(places["memory"])),
        inlined=tuple(places["inline"]),
        rows=tuple(places["row"]),
        orders=tuple(orders),
    )


def _is_ours(record: ScheduleRecord, outputs: Sequence[Tensor], has_memories: bool) -> bool:
    """Whether a schedule is one for this processor, of a graph that is computed by loops alone."""
    libraries = any(op.kind == "library" for op in stages_of(outputs))
    return not libraries and not is_for_device(record, has_memories=has_memories)


def is_read_again(record: ScheduleRecord, stage: StageRecord) -> bool:
    """Whether an element of a stage is read in more places than one: by two stages, by neighbours, in a loop over others."""
    made = {id(tensor) for op in stage.versions for tensor in op.outputs}
    readers = [one for one in record.stages if any(id(t) in made for t in one.op.input_tensors)]
    if len(readers) != 1 or stage.op.reduce_axis or readers[0].op.reduce_axis:
        return True
    op = readers[0].op
    found = [read for body in op.body for read in reads(body) if id(read.tensor) in made]
    return any(
        len(read.indices) != len(op.axis)
        or any(index is not axis for index, axis in zip(read.indices, op.axis, strict=True))
        for read in found
    )


def wants_row(record: ScheduleRecord, stage: StageRecord) -> bool:
    """Whether a stage is attached to a loop inside which only the innermost axis of its reader is left, all of it."""
    assert stage.attach is not None
    parent = record.stage(stage.attach.parent)
    at = next((n for n, leaf in enumerate(parent.leaves) if stage.attach.axis is leaf), None)
    long = [axis for axis in parent.op.axis if not _is_one(axis)]
    if at is None or not long or stage.op.reduce_axis:
        return False
    inside = asked_loops(replace(parent, leaves=parent.leaves[at + 1 :]))
    outside = asked_loops(replace(parent, leaves=parent.leaves[: at + 1]))
    moved = [
        part
        for loop in inside
        for part in loop.parts
        if not is_summed(part.axis) and not _is_one(part.axis)
    ]
    cut = any(part.axis is long[-1] for loop in outside for part in loop.parts)
    return len(moved) == 1 and moved[0].axis is long[-1] and moved[0].step == 1 and not cut


def _order(
    stage: StageRecord, number: int, tiles: Mapping[int, tuple[int, ...]], *, exactly: bool
) -> LoopOrder:
    """The loops that a stage asks for; none where it asks for those that it would have without."""
    loops = asked_loops(stage, tiles)
    axes, summed = stage.op.axis, stage.op.reduce_axis
    if mixes_sums(stage) or tiles or exactly:
        places = {id(axis): place for place, axis in enumerate((*axes, *summed))}
        return LoopOrder(number, exact=tuple(_choice(loop, places) for loop in loops))
    over_sums = [loop for loop in loops if is_summed(loop.parts[0].axis)]
    others = [loop for loop in loops if not is_summed(loop.parts[0].axis)]
    return LoopOrder(number, _unlike(others, axes), _unlike(over_sums, summed))


def _unlike(loops: Sequence[AskedLoop], axes: Sequence[IterVar]) -> tuple[LoopChoice, ...]:
    """Loops in terms of the places of axes, unless they are simply a loop for each."""
    found = tuple(
        _choice(loop, {id(axis): place for place, axis in enumerate(axes)}) for loop in loops
    )
    return () if found == tuple(LoopChoice(((place, 1),)) for place in range(len(axes))) else found


def _choice(loop: AskedLoop, places: Mapping[int, int]) -> LoopChoice:
    parts = tuple((places[id(part.axis)], part.step) for part in loop.parts)
    shared = "parallel" in loop.marks
    unroll = (loop.steps or FEW) if "unroll" in loop.marks else 0
    return LoopChoice(parts, shared, loop.grain if shared else 1, unroll, loop.tiles)


def _is_one(axis: IterVar) -> bool:
    return isinstance(axis.extent, Const) and axis.extent.value == 1
