"""What a schedule says about loops that a CPU can follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tbe_impl.dsl.expr import IterVar
from tbe_impl.dsl.regions import UNKNOWN, size_of
from tbe_impl.dsl.schedule_records import ScheduleRecord, Split, StageRecord


@dataclass(frozen=True, eq=False)
class Hints:
    """How one operation of the graph should be looped over; none of it changes a result.

    Attributes:
        order: its data and reduce axes, outermost first.
        tiles: ``id`` of an axis → steps of its innermost split; an axis that is not split is missing.
        parallel, unroll, vectorize: axes of which some loop was marked so; a loop for the device's cores is parallel.
        inline: whether it has no loops of its own.
    """

    order: tuple[IterVar, ...] = ()
    tiles: Mapping[int, int] = field(default_factory=dict)
    parallel: tuple[IterVar, ...] = ()
    unroll: tuple[IterVar, ...] = ()
    vectorize: tuple[IterVar, ...] = ()
    inline: bool = False


def loop_hints(record: ScheduleRecord) -> Mapping[int, Hints]:
    """``id`` of an operation of the operator's graph → hints; what the schedule leaves as it was has none."""
    found: dict[int, Hints] = {}
    for stage in record.stages:
        if stage.origin is None or stage.is_input:
            continue
        hints = _hints(stage)
        plain = not (
            hints.tiles or hints.parallel or hints.unroll or hints.vectorize or hints.inline
        )
        same = all(one is other for one, other in zip(hints.order, _axes(stage), strict=False))
        if not (plain and same):
            found[id(stage.origin)] = hints
    return MappingProxyType(found)


def _axes(stage: StageRecord) -> tuple[IterVar, ...]:
    op = stage.origin or stage.op
    return (*op.axis, *op.reduce_axis)


def _hints(stage: StageRecord) -> Hints:
    roots = roots_of(stage)
    order: list[IterVar] = []
    for leaf in stage.leaves:
        order += [root for root in roots[id(leaf)] if not any(root is one for one in order)]
    order += [axis for axis in _axes(stage) if not any(axis is one for one in order)]
    own = {id(axis) for axis in _axes(stage)}
    tiles: dict[int, int] = {}
    for relation in stage.relations:
        if isinstance(relation, Split) and size_of(relation.factor) < UNKNOWN:
            for root in roots[id(relation.inner)]:
                if id(root) in own and len(roots[id(relation.inner)]) == 1:
                    tiles[id(root)] = min(size_of(relation.factor), tiles.get(id(root), UNKNOWN))
    marked: dict[str, tuple[IterVar, ...]] = {}
    for name, verbs in (("parallel", ("parallel", "bind")), ("unroll", ("unroll",)), ("vectorize", ("vectorize",))):  # fmt: skip
        axes = [root for one in stage.named(*verbs) if one.axis is not None for root in roots.get(id(one.axis), ())]  # fmt: skip
        marked[name] = tuple({id(axis): axis for axis in axes if id(axis) in own}.values())
    return Hints(
        tuple(axis for axis in order if id(axis) in own),
        MappingProxyType(tiles),
        inline=stage.inlined,
        **marked,
    )


def roots_of(stage: StageRecord) -> dict[int, tuple[IterVar, ...]]:
    """``id`` of an axis or a loop → the axes of the operation that it comes from, outermost first."""
    found: dict[int, tuple[IterVar, ...]] = {
        id(axis): (axis,) for axis in (*stage.op.axis, *stage.op.reduce_axis)
    }
    for relation in stage.relations:
        if isinstance(relation, Split):
            found[id(relation.outer)] = found[id(relation.inner)] = found[id(relation.parent)]
        else:
            both = (*found[id(relation.outer)], *found[id(relation.inner)])
            found[id(relation.fused)] = tuple({id(axis): axis for axis in both}.values())
    return found
