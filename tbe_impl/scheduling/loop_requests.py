"""What a schedule requests of loops: order, blocks, parallel loops, storage.

A schedule that names an instruction, or that was built for a chip and uses its memory, is written for the device: its loops cut
tiles for that memory, and mean nothing here. Any other asks for loops as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tbe_impl.dsl.expr import Const, IterVar
from tbe_impl.scheduling.records import Directive, ScheduleRecord, Split, StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL
from tbe_impl.scheduling.tile_regions import UNKNOWN, size_of

MARKS = {"parallel": "parallel", "bind": "parallel", "unroll": "unroll", "vectorize": "vectorize"}
"""Methods that mark a loop → the mark."""


@dataclass(frozen=True)
class Part:
    """An index that a loop moves, by so many of its steps at once: a loop over blocks takes more than one."""

    axis: IterVar
    step: int


@dataclass(frozen=True)
class AskedLoop:
    """One loop.

    Attributes:
        parts: what it moves; several where loops were fused.
        marks: ``parallel``, ``unroll``, ``vectorize``.
        steps: how many it takes; None for a size of run time.
        grain: steps that stay on one thread.
        tiles: numbers of the stages of which a tile is computed in each of its steps.
    """

    parts: tuple[Part, ...]
    marks: frozenset[str] = frozenset()
    steps: int | None = None
    grain: int = 1
    tiles: tuple[int, ...] = ()


@dataclass(frozen=True)
class Asked:
    """One thing that a schedule says.

    Attributes:
        verb: the method, such as ``split``.
        stage: what it is about.
        what: its arguments as text.
        place: file and line.
        axes: those of the stage's operation that it is about.
        mark: that it sets on a loop; see `MARKS`.
    """

    verb: str
    stage: StageRecord
    what: str
    place: str
    axes: tuple[IterVar, ...] = ()
    mark: str = ""


def is_for_device(record: ScheduleRecord, *, has_memories: bool = True) -> bool:
    """Whether a schedule uses what only the device has: an instruction, or a memory of the chip.

    Args:
        record: the schedule.
        has_memories: whether it was written for a chip with memories of its own; for a processor such a memory is a tile.
    """
    return any(
        stage.has("emit_insn") or (has_memories and stage.scope != GLOBAL)
        for stage in record.stages
    )


def place_of(stage: StageRecord) -> str:
    """Where a stage is to be computed: ``memory`` (all of it, first), ``inline``, ``row``, or empty for wherever.

    What the schedule added lies in memory unless it says otherwise.
    """
    if stage.inlined:
        return "inline"
    if stage.attach is not None:
        return "row"
    wanted = stage.has("compute_root") or stage.made_by or stage.scope != GLOBAL
    return "memory" if wanted else ""


def asked_loops(
    stage: StageRecord, tiles: Mapping[int, tuple[int, ...]] = MappingProxyType({})
) -> tuple[AskedLoop, ...]:
    """The loops of a stage, outermost first, in terms of its axes and of what it sums up.

    Blocks of an axis that follow each other without another loop in between are one loop: its steps come in the same order.

    Args:
        stage: the stage.
        tiles: ``id`` of a loop → numbers of the stages of which a tile is computed in it.
    """
    marks: dict[int, set[str]] = {}
    for one in stage.directives:
        mark = mark_of(one)
        if mark and one.axis is not None:
            marks.setdefault(id(one.axis), set()).add(mark)
    loops = [
        AskedLoop(
            (Part(leaf, 1),),
            frozenset(marks.get(id(leaf), ())),
            _known(leaf),
            tiles=tiles.get(id(leaf), ()),
        )
        for leaf in stage.leaves
    ]
    for relation in reversed(stage.relations):
        loops = _joined(loops)
        if isinstance(relation, Split):
            factor = size_of(relation.factor)
            loops = [_unsplit(loop, relation, factor) for loop in loops]
        else:
            expanded = (Part(relation.outer, 1), Part(relation.inner, 1))
            loops = [_replaced(loop, relation.fused, expanded) for loop in loops]
    own = {id(axis) for axis in (*stage.op.axis, *stage.op.reduce_axis)}
    loops = [
        replace(loop, parts=tuple(part for part in loop.parts if id(part.axis) in own))
        for loop in loops
    ]
    loops = [replace(loop, parts=_whole(loop.parts)) for loop in _moved_out(loops)]
    return tuple(_joined(loops))


def _moved_out(loops: Sequence[AskedLoop]) -> list[AskedLoop]:
    """Without loops that move nothing; their tiles are computed in the loop around."""
    found: list[AskedLoop] = []
    for loop in loops:
        if loop.parts:
            found.append(loop)
        elif found:
            found[-1] = replace(found[-1], tiles=(*found[-1].tiles, *loop.tiles))
    return found


def is_summed(axis: IterVar) -> bool:
    """Whether a loop, or an axis, goes over what is reduced."""
    return axis.kind == "reduce"


def mixes_sums(stage: StageRecord) -> bool:
    """Whether a stage says which of its loops over results stand inside which over what it sums up."""
    groups = [one.value for one in stage.named("reorder")]
    groups += [(one.outer, one.inner) for one in stage.relations if not isinstance(one, Split)]
    return any(len({is_summed(axis) for axis in group}) > 1 for group in groups)


def wants_tile(record: ScheduleRecord, stage: StageRecord) -> bool:
    """Whether a stage is to be computed tile by tile, in memory: a copy, what lies in a memory of its own, or what a loop over
    sums around others reads."""
    if stage.attach is None or stage.is_output or not stage.op.body:
        return False
    parent = record.stage(stage.attach.parent)
    there = any(leaf is stage.attach.axis for leaf in parent.leaves)
    asked = (
        stage.made_by
        or stage.scope != GLOBAL
        or is_summed(stage.attach.axis)
        or mixes_sums(parent)
        or mixes_sums(stage)
    )
    return there and bool(asked) and bool(parent.op.body) and not parent.inlined


def mark_of(one: Directive) -> str:
    """The mark that a directive sets on its loop; empty when it sets none."""
    if one.name == "pragma":
        return MARKS.get(str(one.value[0]), "")
    if one.name == "bind" and not one.value[0].thread_tag.startswith("blockIdx"):
        return ""
    return MARKS.get(one.name, "")


def _known(leaf: IterVar) -> int | None:
    return int(leaf.extent.value) if isinstance(leaf.extent, Const) else None


def _unsplit(loop: AskedLoop, split: Split, factor: int) -> AskedLoop:
    parts = []
    for part in loop.parts:
        if part.axis is split.inner:
            # a block of one step has no loop of its own
            parts += [Part(split.parent, part.step)] if factor > 1 else []
        elif part.axis is split.outer:
            # of blocks of unknown size there is no loop
            parts += [Part(split.parent, part.step * factor)] if factor < UNKNOWN else []
        else:
            parts.append(part)
    return replace(loop, parts=tuple(parts))


def _replaced(loop: AskedLoop, fused: IterVar, parts: Sequence[Part]) -> AskedLoop:
    found: list[Part] = []
    for part in loop.parts:
        if part.axis is not fused:
            found.append(part)
        elif part.step == 1:
            found += parts
    return replace(loop, parts=tuple(found))


def _whole(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts of a fused loop, without blocks that are followed by their own steps."""
    following = (*parts[1:], None)
    return tuple(
        one
        for one, other in zip(parts, following, strict=True)
        if other is None or one.axis is not other.axis
    )


def _joined(loops: Sequence[AskedLoop]) -> list[AskedLoop]:
    found: list[AskedLoop] = []
    for loop in loops:
        before = found[-1] if found else None
        if before is None or not _follows(before, loop):
            found.append(loop)
            continue
        grain = before.parts[0].step if "parallel" in before.marks else loop.grain
        steps = before.parts[0].step // loop.parts[0].step if "unroll" in loop.marks else None
        found[-1] = replace(loop, marks=before.marks | loop.marks, grain=grain, steps=steps)
    return found


def _follows(one: AskedLoop, other: AskedLoop) -> bool:
    if len(one.parts) != 1 or len(other.parts) != 1 or one.tiles:
        return False
    outer, inner = one.parts[0], other.parts[0]
    return outer.axis is inner.axis and outer.step > inner.step and not is_summed(outer.axis)


def everything_asked(record: ScheduleRecord) -> Iterator[Asked]:
    """All that a schedule says, stage by stage."""
    for stage in record.stages:
        if stage.scope_place and stage.scope != GLOBAL:
            yield Asked("set_scope", stage, stage.scope, stage.scope_place)
        elif stage.made_by:
            yield Asked(stage.made_by, stage, "", stage.scope_place)
        roots = roots_of(stage)
        for relation in stage.relations:
            if isinstance(relation, Split):
                text = f"{relation.parent.name} {_how(relation)}"
                axes = roots[id(relation.parent)]
            else:
                text = f"{relation.outer.name}, {relation.inner.name}"
                axes = roots[id(relation.fused)]
            verb = "split" if isinstance(relation, Split) else "fuse"
            yield Asked(verb, stage, text, relation.place, axes)
        if stage.attach is not None:
            text = f"{stage.attach.axis.name} of {stage.attach.parent.name}"
            yield Asked("compute_at", stage, text, stage.attach.place)
        for one in stage.directives:
            axes = roots.get(id(one.axis), ())
            text = one.axis.name if one.axis is not None else ""
            if one.name == "reorder":
                text = ", ".join(axis.name for axis in one.value)
                axes = tuple(root for axis in one.value for root in roots.get(id(axis), ()))
            elif one.name in ("emit_insn", "pragma"):
                text = f"{text}, {one.value[0]}"
            yield Asked(one.name, stage, text, one.place, axes, mark_of(one))


def _how(split: Split) -> str:
    return f"by {split.factor}" if split.nparts is None else f"in {split.nparts} parts"


def roots_of(stage: StageRecord) -> dict[int, tuple[IterVar, ...]]:
    """``id`` of an axis or a loop → the axes of the operation that it comes from, outermost first; none for a loop of one step."""
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
