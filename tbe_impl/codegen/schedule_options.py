"""Translates a schedule to codegen options that identify stages and axes by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tbe_impl.codegen.options import DEFAULT_OPTIONS, LoopChoice, LoopOrder, Options
from tbe_impl.codegen.program import numbered_results
from tbe_impl.dsl.expr import Const, IterVar, reads
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.scheduling.loop_requests import (
    RequestedLoop,
    collect_requested_loops,
    has_mixed_axis_order,
    has_tile_request,
    is_for_device,
    is_reduction_axis,
    placement_of,
)
from tbe_impl.scheduling.records import ScheduleRecord, StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE

DEFAULT_UNROLL_STEPS = 4
"""Unroll factor of a loop without a constant extent."""


def outputs_of(
    record: ScheduleRecord, outputs: Sequence[Tensor], *, has_memories: bool = True
) -> tuple[Tensor, ...]:
    """Returns the outputs of the graph to which `options_of` applies.

    This graph includes the stages that the schedule adds for this processor (the CPU of this
    machine). These stages are copies and two-step reductions.

    Args:
        record, outputs, has_memories: as for `options_of`.
    """
    if not _is_for_this_processor(record, outputs, has_memories) or not record.has_added_stages:
        return tuple(outputs)
    graph = record.latest_tensors()
    return tuple(graph.get(id(tensor), tensor) for tensor in outputs)


def options_of(
    record: ScheduleRecord,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    base: Options = DEFAULT_OPTIONS,
    *,
    has_memories: bool = True,
) -> Options:
    """Returns a copy of the options `base` with the requests of a schedule.

    Returns `base` itself if the schedule is for the device or the graph has library stages.

    Args:
        record: record of the schedule.
        outputs, inputs: tensors of the kernel. The returned options apply to the graph of the
            outputs that `outputs_of` returns.
        base: options without the requests.
        has_memories: whether the schedule targets a chip with on-chip memories.
    """
    if not _is_for_this_processor(record, outputs, has_memories):
        return base
    made = outputs_of(record, outputs, has_memories=has_memories)
    numbers = {id(item): number for number, item in enumerate(numbered_results(made, inputs))}
    places: dict[str, list[int]] = {"memory": [], "inline": [], "row": []}
    orders = []
    tiles: dict[int, dict[int, tuple[int, ...]]] = {}
    for stage in record.stages:
        if stage.attach is not None and has_tile_request(record, stage):
            number = numbers.get(id(stage.op.outputs[0]))
            at = tiles.setdefault(id(record.stage(stage.attach.parent)), {})
            if number is not None:
                at[id(stage.attach.axis)] = (*at.get(id(stage.attach.axis), ()), number)
    for stage in record.stages:
        own = [numbers[id(t)] for t in stage.op.outputs if id(t) in numbers]
        if not own:
            continue
        place = placement_of(stage)
        if place == "row" and not is_attached_to_row(record, stage):
            place = ""
        if (
            place == "memory"
            and not stage.made_by
            and stage.scope == GLOBAL_SCOPE
            and not is_read_repeatedly(record, stage)
        ):
            place = ""
        if place:
            places[place] += own
        is_tile = has_tile_request(record, stage)
        order = _loop_order(stage, own[0], tiles.get(id(stage), {}), exactly=is_tile)
        if order.exact and not is_tile:
            places["memory"] += own
        if order != LoopOrder(own[0]) and (is_tile or placement_of(stage) in ("", "memory")):
            orders.append(order)
    return replace(
        base,
        stored=tuple(dict.fromkeys(places["memory"])),
        inlined=tuple(places["inline"]),
        rows=tuple(places["row"]),
        orders=tuple(orders),
    )


def _is_for_this_processor(
    record: ScheduleRecord, outputs: Sequence[Tensor], has_memories: bool
) -> bool:
    """Returns whether a schedule targets this processor and its graph has no library stages."""
    libraries = any(op.kind == "library" for op in stages_of(outputs))
    return not libraries and not is_for_device(record, has_memories=has_memories)


def is_read_repeatedly(record: ScheduleRecord, stage: StageRecord) -> bool:
    """Returns whether an element of a stage may be read more than once.

    Returns False if three conditions hold, and True otherwise. First, exactly one other stage reads
    the elements. Second, each element of that stage reads only the element with the same indices.
    Third, neither stage is a reduction.
    """
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


def is_attached_to_row(record: ScheduleRecord, stage: StageRecord) -> bool:
    """Returns whether a stage is attached to a loop over the rows of another stage.

    Inside such a loop, the other stage has exactly one loop, which covers its whole innermost axis.
    """
    assert stage.attach is not None
    parent = record.stage(stage.attach.parent)
    at = next((n for n, leaf in enumerate(parent.leaves) if stage.attach.axis is leaf), None)
    long = [axis for axis in parent.op.axis if not _has_one_step(axis)]
    if at is None or not long or stage.op.reduce_axis:
        return False
    inside = collect_requested_loops(replace(parent, leaves=parent.leaves[at + 1 :]))
    outside = collect_requested_loops(replace(parent, leaves=parent.leaves[: at + 1]))
    moved = [
        part
        for loop in inside
        for part in loop.parts
        if not is_reduction_axis(part.axis) and not _has_one_step(part.axis)
    ]
    cut = any(part.axis is long[-1] for loop in outside for part in loop.parts)
    return len(moved) == 1 and moved[0].axis is long[-1] and moved[0].step == 1 and not cut


def _loop_order(
    stage: StageRecord, number: int, tiles: Mapping[int, tuple[int, ...]], *, exactly: bool
) -> LoopOrder:
    """Returns the requested loops of a stage.

    `LoopOrder.loops` is empty if the requested data loops are the default loops. The same holds for
    `LoopOrder.sums` and the reduction loops.
    """
    loops = collect_requested_loops(stage, tiles)
    axes, summed = stage.op.axis, stage.op.reduce_axis
    if has_mixed_axis_order(stage) or tiles or exactly:
        places = {id(axis): place for place, axis in enumerate((*axes, *summed))}
        return LoopOrder(number, exact=tuple(_loop_choice(loop, places) for loop in loops))
    over_sums = [loop for loop in loops if is_reduction_axis(loop.parts[0].axis)]
    others = [loop for loop in loops if not is_reduction_axis(loop.parts[0].axis)]
    return LoopOrder(
        number, _nondefault_choices(others, axes), _nondefault_choices(over_sums, summed)
    )


def _nondefault_choices(
    loops: Sequence[RequestedLoop], axes: Sequence[IterVar]
) -> tuple[LoopChoice, ...]:
    """Converts axes of requested loops to positions; returns () if these are the default loops.

    The default is one loop for each axis, in the order of `axes`.
    """
    found = tuple(
        _loop_choice(loop, {id(axis): place for place, axis in enumerate(axes)}) for loop in loops
    )
    return () if found == tuple(LoopChoice(((place, 1),)) for place in range(len(axes))) else found


def _loop_choice(loop: RequestedLoop, places: Mapping[int, int]) -> LoopChoice:
    parts = tuple((places[id(part.axis)], part.step) for part in loop.parts)
    shared = "parallel" in loop.marks
    unroll = (loop.steps or DEFAULT_UNROLL_STEPS) if "unroll" in loop.marks else 0
    return LoopChoice(parts, shared, loop.grain if shared else 1, unroll, loop.tiles)


def _has_one_step(axis: IterVar) -> bool:
    return isinstance(axis.extent, Const) and axis.extent.value == 1
