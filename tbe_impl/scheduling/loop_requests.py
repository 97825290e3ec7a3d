"""Collects the loops that a schedule requests: order, tiling, parallel loops, storage.

A schedule that uses a device instruction or a device memory targets the device. The loops of such
a schedule split the data into tiles that fit the device memory, and have no meaning on a CPU. Any
other schedule requests exactly the loops that it defines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tbe_impl.dsl.expr import Const, IterVar
from tbe_impl.records import Record
from tbe_impl.scheduling.records import Directive, ScheduleRecord, Split, StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE
from tbe_impl.scheduling.tile_regions import RUNTIME_SIZE, size_of

MARKS = {"parallel": "parallel", "bind": "parallel", "unroll": "unroll", "vectorize": "vectorize"}
"""Name of a schedule method that annotates a loop → the annotation, called the loop's mark."""


class LoopIndex(Record):
    """One axis of a loop; each iteration adds `step` to the axis's index (tile loop: above 1)."""

    axis: IterVar
    step: int


class RequestedLoop(Record):
    """A loop that a schedule requests.

    Attributes:
        parts: the axes over which the loop runs; a fused loop runs over several axes.
        marks: annotations of the loop: ``parallel``, ``unroll``, ``vectorize``.
        steps: number of iterations of the loop; None if this number is unknown.
        grain: number of consecutive iterations of the loop that run on one thread.
        tiles: the numbers of the stages that are computed tile by tile inside the loop.
    """

    parts: tuple[LoopIndex, ...]
    marks: frozenset[str] = frozenset()
    steps: int | None = None
    grain: int = 1
    tiles: tuple[int, ...] = ()


class ScheduleRequest(Record):
    """One decision of a schedule.

    Attributes:
        verb: the schedule method, such as ``split``.
        stage: the stage that the decision applies to.
        what: the arguments of the method as text.
        place: file and line of the call.
        axes: the axes to which the decision applies; they belong to the operation of the stage.
        mark: the annotation, such as ``parallel``, that the decision sets on a loop; see `MARKS`.
            Empty if the decision sets none.
    """

    verb: str
    stage: StageRecord
    what: str
    place: str
    axes: tuple[IterVar, ...] = ()
    mark: str = ""


def is_for_device(record: ScheduleRecord, *, has_memories: bool = True) -> bool:
    """Whether a schedule uses device features: an instruction, or a memory of the chip.

    Args:
        record: the schedule.
        has_memories: whether the target has on-chip memories. If False, the memory scopes of stages
            are not considered: on a CPU, a scope only means a tile buffer.
    """
    return any(
        stage.has("emit_insn") or (has_memories and stage.scope != GLOBAL_SCOPE)
        for stage in record.stages
    )


def placement_of(stage: StageRecord) -> str:
    """Returns the placement that the schedule requests for a stage.

    - ``inline``: the expression of the stage is inlined into its consumers;
    - ``row``: the stage is computed inside a loop of another stage;
    - ``memory``: the stage is computed as a whole, before its consumers. The schedule requests this
      by ``compute_root``. A stage that the schedule added, and a stage in an on-chip memory, also
      have this placement by default;
    - an empty string: the schedule leaves the choice open.
    """
    if stage.inlined:
        return "inline"
    if stage.attach is not None:
        return "row"
    wanted = stage.has("compute_root") or stage.made_by or stage.scope != GLOBAL_SCOPE
    return "memory" if wanted else ""


def collect_requested_loops(
    stage: StageRecord, tiles: Mapping[int, tuple[int, ...]] = MappingProxyType({})
) -> tuple[RequestedLoop, ...]:
    """Returns the loops of a stage, outermost first, in terms of its data and reduction axes.

    If an outer and an inner loop of one data axis are adjacent, they become one loop. The iteration
    order stays the same. The two loops stay apart if a stage is computed inside the outer loop.

    Args:
        stage: the stage.
        tiles: a dict from the ``id`` of a loop to the `RequestedLoop.tiles` of this loop.
    """
    marks: dict[int, set[str]] = {}
    for one in stage.directives:
        mark = mark_of(one)
        if mark and one.axis is not None:
            marks.setdefault(id(one.axis), set()).add(mark)
    loops = [
        RequestedLoop(
            (LoopIndex(leaf, 1),),
            frozenset(marks.get(id(leaf), ())),
            _constant_extent(leaf),
            tiles=tiles.get(id(leaf), ()),
        )
        for leaf in stage.leaves
    ]
    for relation in reversed(stage.relations):
        loops = _join_adjacent_loops(loops)
        if isinstance(relation, Split):
            factor = size_of(relation.factor)
            loops = [_undo_split(loop, relation, factor) for loop in loops]
        else:
            expanded = (LoopIndex(relation.outer, 1), LoopIndex(relation.inner, 1))
            loops = [_expand_fused(loop, relation.fused, expanded) for loop in loops]
    own = {id(axis) for axis in (*stage.op.axis, *stage.op.reduce_axis)}
    loops = [
        replace(loop, parts=tuple(part for part in loop.parts if id(part.axis) in own))
        for loop in loops
    ]
    loops = [
        replace(loop, parts=_drop_covered_blocks(loop.parts)) for loop in _drop_empty_loops(loops)
    ]
    return tuple(_join_adjacent_loops(loops))


def _drop_empty_loops(loops: Sequence[RequestedLoop]) -> list[RequestedLoop]:
    """Drops loops that advance no axis.

    The next outer loop gets the `tiles` of a dropped loop.
    """
    found: list[RequestedLoop] = []
    for loop in loops:
        if loop.parts:
            found.append(loop)
        elif found:
            found[-1] = replace(found[-1], tiles=(*found[-1].tiles, *loop.tiles))
    return found


def is_reduction_axis(axis: IterVar) -> bool:
    """Whether a loop or an axis iterates over a reduction dimension."""
    return axis.kind == "reduce"


def has_mixed_axis_order(stage: StageRecord) -> bool:
    """Whether a reorder or a fusion of a stage involves both data loops and reduction loops."""
    groups = [one.value for one in stage.find_directives("reorder")]
    groups += [(one.outer, one.inner) for one in stage.relations if not isinstance(one, Split)]
    return any(len({is_reduction_axis(axis) for axis in group}) > 1 for group in groups)


def has_tile_request(record: ScheduleRecord, stage: StageRecord) -> bool:
    """Whether a schedule requests that a stage is computed tile by tile, into a buffer.

    The stage must be attached to a loop of another stage. In addition, one of these conditions must
    hold:

    - the schedule added the stage;
    - the schedule put the stage into an on-chip memory;
    - the stage is attached to a reduction loop;
    - `has_mixed_axis_order` holds for one of the two stages.
    """
    if stage.attach is None or stage.is_output or not stage.op.body:
        return False
    parent = record.stage(stage.attach.parent)
    there = any(leaf is stage.attach.axis for leaf in parent.leaves)
    asked = (
        stage.made_by
        or stage.scope != GLOBAL_SCOPE
        or is_reduction_axis(stage.attach.axis)
        or has_mixed_axis_order(parent)
        or has_mixed_axis_order(stage)
    )
    return there and bool(asked) and bool(parent.op.body) and not parent.inlined


def mark_of(one: Directive) -> str:
    """Returns the mark, such as ``parallel``, that a directive sets on its loop.

    The mark is empty if the directive sets none.
    """
    if one.name == "pragma":
        return MARKS.get(str(one.value[0]), "")
    if one.name == "bind" and not one.value[0].thread_tag.startswith("blockIdx"):
        return ""
    return MARKS.get(one.name, "")


def _constant_extent(leaf: IterVar) -> int | None:
    return int(leaf.extent.value) if isinstance(leaf.extent, Const) else None


def _undo_split(loop: RequestedLoop, split: Split, factor: int) -> RequestedLoop:
    parts = []
    for part in loop.parts:
        if part.axis is split.inner:
            # an inner loop of one iteration is omitted
            parts += [LoopIndex(split.parent, part.step)] if factor > 1 else []
        elif part.axis is split.outer:
            # the outer loop is omitted if the size of its tiles is unknown
            parts += [LoopIndex(split.parent, part.step * factor)] if factor < RUNTIME_SIZE else []
        else:
            parts.append(part)
    return replace(loop, parts=tuple(parts))


def _expand_fused(loop: RequestedLoop, fused: IterVar, parts: Sequence[LoopIndex]) -> RequestedLoop:
    found: list[LoopIndex] = []
    for part in loop.parts:
        if part.axis is not fused:
            found.append(part)
        elif part.step == 1:
            found += parts
    return replace(loop, parts=tuple(found))


def _drop_covered_blocks(parts: Sequence[LoopIndex]) -> tuple[LoopIndex, ...]:
    """Drops each index of a fused loop that is directly followed by an index of the same axis.

    The following index has a smaller step, and therefore covers the values of both indices.
    """
    following = (*parts[1:], None)
    return tuple(
        one
        for one, other in zip(parts, following, strict=True)
        if other is None or one.axis is not other.axis
    )


def _join_adjacent_loops(loops: Sequence[RequestedLoop]) -> list[RequestedLoop]:
    found: list[RequestedLoop] = []
    for loop in loops:
        before = found[-1] if found else None
        if before is None or not _is_continuation(before, loop):
            found.append(loop)
            continue
        grain = before.parts[0].step if "parallel" in before.marks else loop.grain
        steps = before.parts[0].step // loop.parts[0].step if "unroll" in loop.marks else None
        found[-1] = replace(loop, marks=before.marks | loop.marks, grain=grain, steps=steps)
    return found


def _is_continuation(one: RequestedLoop, other: RequestedLoop) -> bool:
    if len(one.parts) != 1 or len(other.parts) != 1 or one.tiles:
        return False
    outer, inner = one.parts[0], other.parts[0]
    return (
        outer.axis is inner.axis and outer.step > inner.step and not is_reduction_axis(outer.axis)
    )


def collect_requests(record: ScheduleRecord) -> Iterator[ScheduleRequest]:
    """Yields all decisions of a schedule, stage by stage."""
    for stage in record.stages:
        if stage.scope_place and stage.scope != GLOBAL_SCOPE:
            yield ScheduleRequest("set_scope", stage, stage.scope, stage.scope_place)
        elif stage.made_by:
            yield ScheduleRequest(stage.made_by, stage, "", stage.scope_place)
        roots = roots_of(stage)
        for relation in stage.relations:
            if isinstance(relation, Split):
                text = f"{relation.parent.name} {_split_text(relation)}"
                axes = roots[id(relation.parent)]
            else:
                text = f"{relation.outer.name}, {relation.inner.name}"
                axes = roots[id(relation.fused)]
            verb = "split" if isinstance(relation, Split) else "fuse"
            yield ScheduleRequest(verb, stage, text, relation.place, axes)
        if stage.attach is not None:
            text = f"{stage.attach.axis.name} of {stage.attach.parent.name}"
            yield ScheduleRequest("compute_at", stage, text, stage.attach.place)
        for one in stage.directives:
            axes = roots.get(id(one.axis), ())
            text = one.axis.name if one.axis is not None else ""
            if one.name == "reorder":
                text = ", ".join(axis.name for axis in one.value)
                axes = tuple(root for axis in one.value for root in roots.get(id(axis), ()))
            elif one.name in ("emit_insn", "pragma"):
                text = f"{text}, {one.value[0]}"
            yield ScheduleRequest(one.name, stage, text, one.place, axes, mark_of(one))


def _split_text(split: Split) -> str:
    return f"by {split.factor}" if split.nparts is None else f"in {split.nparts} parts"


def roots_of(stage: StageRecord) -> dict[int, tuple[IterVar, ...]]:
    """Finds, for each axis and loop of a stage, the operation's axes that it is derived from.

    Returns:
        A dict from the ``id`` of an axis or a loop to a tuple of axes of the operation, outermost
        first. The tuple is empty for a loop that is derived from no axis.
    """
    found: dict[int, tuple[IterVar, ...]] = {
        id(axis): (axis,) for axis in (*stage.op.axis, *stage.op.reduce_axis)
    }
    for relation in stage.relations:
        if isinstance(relation, Split):
            found[id(relation.outer)] = found[id(relation.inner)] = found.get(
                id(relation.parent), ()
            )
        else:
            both = (*found.get(id(relation.outer), ()), *found.get(id(relation.inner), ()))
            found[id(relation.fused)] = tuple({id(axis): axis for axis in both}.values())
    return found
