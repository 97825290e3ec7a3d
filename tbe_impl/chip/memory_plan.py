"""Computes the on-chip buffers of a schedule, the lifetimes of the buffers, and the bytes moved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Read, reads
from tbe_impl.records import Record
from tbe_impl.scheduling.records import StageRecord
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE
from tbe_impl.scheduling.tile_regions import RUNTIME_SIZE, Regions, elements


@dataclass(frozen=True, eq=False)
class OnChipBuffer:
    """The on-chip buffer for one output of a stage.

    Attributes:
        stage: the record of the stage in the schedule.
        name: name of the tensor.
        shape: size of each dimension, without padding.
        dtype: name of the dtype.
        bytes: bytes of one copy, with padding.
        copies: 2 if the buffer is double buffered, otherwise 1.
        first, last: first and last position of the buffer's lifetime in the execution order of the
            stages.
        at: stage and loop to which `stage` is attached, as text. Empty if `stage` is not attached.
    """

    stage: StageRecord
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    copies: int
    first: int
    last: int
    at: str

    @property
    def total_bytes(self) -> int:
        """Bytes of all copies of the buffer."""
        return self.bytes * self.copies


class MemoryPeak(Record):
    """The peak use of a memory.

    Attributes:
        scope: name of the memory, such as ``local.UB``.
        bytes: occupied bytes at the peak.
        buffers: buffers that are live at the peak.
    """

    scope: str
    bytes: int
    buffers: tuple[OnChipBuffer, ...]


def order_of(regions: Regions) -> dict[int, int]:
    """Returns a dict from the ``id`` of each stage to its position in the execution order.

    If a stage is attached to a loop of another stage, the attached stage comes first.
    """
    inner: dict[int, list[StageRecord]] = {}
    roots: list[StageRecord] = []
    for stage in regions.record.stages:
        parent = regions.parent(stage)
        inner.setdefault(id(parent), []).append(stage) if parent else roots.append(stage)
    found: dict[int, int] = {}

    def visit(stage: StageRecord) -> None:
        if id(stage) in found:
            return
        found[id(stage)] = -1  # stops the recursion where two stages are attached to each other
        attached = inner.get(id(stage), [])
        for other in sorted(
            attached, key=lambda one: regions.position(stage, one.attach.axis) if one.attach else 0
        ):
            visit(other)
        found[id(stage)] = sum(1 for place in found.values() if place >= 0)

    for stage in (*roots, *regions.record.stages):
        visit(stage)
    return found


def _is_a_view(stage: StageRecord) -> bool:
    """Whether a stage only configures later image loads (``set_fmatrix``).

    Such a stage uses no memory.
    """
    return any(
        directive.value[0] == "set_fmatrix" for directive in stage.find_directives("emit_insn")
    )


def buffers_of(regions: Regions, *, block_bytes: int) -> tuple[OnChipBuffer, ...]:
    """Returns the buffers of all stages that have on-chip memory.

    If the last stage that reads a buffer is elementwise, this stage may write its result into the
    buffer, as the device's allocator allows. In this case, the stage that fills the buffer and the
    stage that reads it last must either both use double buffering or both not use it.
    """
    order = order_of(regions)
    taken: set[int] = set()
    found: list[OnChipBuffer] = []
    for stage in sorted(regions.record.stages, key=lambda one: order[id(one)]):
        if stage.scope == GLOBAL_SCOPE or stage.inlined or stage.is_input or _is_a_view(stage):
            continue
        shape = regions.tile(stage)
        doubled = stage.has("double_buffer")
        first, last = order[id(stage)], _last_use(regions, stage, order)
        if not stage.has("mem_unique") and _may_reuse_in_place(regions, stage, last, order, taken):
            last -= 1
        for tensor in stage.op.outputs:
            size = _padded_elements(stage, shape) * dtype_of(tensor.dtype).bytes
            found.append(
                OnChipBuffer(
                    stage,
                    tensor.name,
                    shape,
                    tensor.dtype,
                    -(-size // block_bytes) * block_bytes,
                    2 if doubled else 1,
                    first,
                    last,
                    ""
                    if stage.attach is None
                    else f"{stage.attach.parent.name}: {stage.attach.axis.name}",
                )
            )
    return tuple(found)


def peak(buffers: Iterable[OnChipBuffer], scope: str) -> MemoryPeak:
    """Returns the peak use of a memory.

    Of buffers that share memory, only the largest counts.
    """
    inside = [buffer for buffer in buffers if buffer.stage.scope == scope]
    groups = _group_aliased_buffers(inside)
    fullest = MemoryPeak(scope, 0, ())
    for moment in sorted({buffer.first for buffer in inside}):
        alive = [
            max(group, key=lambda one: one.total_bytes)
            for group in groups
            if min(one.first for one in group) <= moment <= max(one.last for one in group)
        ]
        total = sum(buffer.total_bytes for buffer in alive)
        if total > fullest.bytes:
            fullest = MemoryPeak(scope, total, tuple(alive))
    return fullest


def _group_aliased_buffers(buffers: Sequence[OnChipBuffer]) -> list[list[OnChipBuffer]]:
    """Groups the buffers that share memory because of a ``reused_by`` directive."""
    groups: dict[int, list[OnChipBuffer]] = {id(buffer): [buffer] for buffer in buffers}
    for buffer in buffers:
        for directive in buffer.stage.find_directives("reused_by"):
            names = {id(tensor) for tensor in directive.value}
            for other in buffers:
                if any(id(tensor) in names for op in other.stage.versions for tensor in op.outputs):
                    one, two = groups[id(buffer)], groups[id(other)]
                    if one is not two:
                        one += two
                        groups.update((id(member), one) for member in two)
    return list({id(group): group for group in groups.values()}.values())


def _padded_elements(stage: StageRecord, shape: Sequence[int]) -> int:
    """Returns the number of elements of a buffer, including the effect of schedule directives.

    The directives are storage_align, buffer_align, buffer_tile, set_buffer_size and
    set_storage_bound.
    """
    for directive in stage.find_directives("set_buffer_size", "set_storage_bound"):
        bound = _number(directive.value[0])
        if bound is not None:
            return bound
    sizes = list(shape)
    for directive in stage.find_directives("buffer_align"):
        for at, pair in enumerate(directive.value[: len(sizes)]):
            step = _number(pair[1])
            if step:
                sizes[at] = -(-sizes[at] // step) * step
    for directive in stage.find_directives("buffer_tile"):
        for at, pair in enumerate(directive.value[: len(sizes)]):
            extent = _number(pair[1])
            sizes[at] = sizes[at] if extent is None else extent
    return padded_strides(stage, sizes)[0]


def padded_strides(stage: StageRecord, sizes: Sequence[int]) -> list[int]:
    """Returns a list of the strides of a buffer in elements, preceded by the number of elements.

    The number and the strides include the padding that ``storage_align`` requests.
    """
    aligned = {
        id(one.axis): one.value
        for one in stage.find_directives("storage_align")
        if one.axis is not None
    }
    strides = [1]
    for at in reversed(range(len(sizes))):
        axis = stage.op.axis[at] if at < len(stage.op.axis) else None
        if axis is not None and id(axis) in aligned:
            factor, offset = (_number(value) or 0 for value in (*aligned[id(axis)], 0)[:2])
            if factor > 0:
                strides[-1] = -(-(strides[-1] - offset) // factor) * factor + offset
        strides.append(strides[-1] * sizes[at])
    return strides[::-1]


def _number(value: object) -> int | None:
    if isinstance(value, Const):
        value = value.value
    return int(value) if isinstance(value, (int, float)) else None


def _readers(regions: Regions, stage: StageRecord) -> list[StageRecord]:
    """Returns the stages that read a stage, directly or through inlined stages."""
    found: list[StageRecord] = []
    for consumer in regions.consumers(stage):
        found += _readers(regions, consumer) if consumer.inlined else [consumer]
    return found


def _last_use(regions: Regions, stage: StageRecord, order: dict[int, int]) -> int:
    """Returns the last position in the execution order at which a stage's result is read.

    If a reader is attached to an inner loop of another stage, the position of the other stage
    counts.
    """
    last = order[id(stage)]
    for reader in _readers(regions, stage):
        climbing: StageRecord | None = reader
        steps = 0
        while climbing is not None and steps <= len(order):
            level = climbing.attach
            same = level is stage.attach or (
                level is not None
                and stage.attach is not None
                and level.parent is stage.attach.parent
                and level.axis is stage.attach.axis
            )
            if same or (stage.attach is not None and stage.attach.parent in climbing.versions):
                break
            climbing, steps = regions.parent(climbing), steps + 1
        last = max(last, order[id(climbing or reader)])
    return last


def _may_reuse_in_place(
    regions: Regions, stage: StageRecord, last: int, order: dict[int, int], taken: set[int]
) -> bool:
    """Whether the last stage that reads the buffer of `stage` can write its result into the buffer.

    If so, the function adds the reading stage to `taken`, since a stage can reuse only one buffer.
    `last` is the position of the reading stage in the execution order.
    """
    readers = [one for one in _readers(regions, stage) if order[id(one)] == last]
    if len(readers) != 1 or id(readers[0]) in taken:
        return False
    reader = readers[0]
    if reader.scope != stage.scope or reader.has("double_buffer") != stage.has("double_buffer"):
        return False
    made = {id(tensor) for op in stage.versions for tensor in op.outputs}
    uses: list[Read] = [
        read for body in reader.op.body for read in reads(body) if id(read.tensor) in made
    ]
    in_place = bool(uses) and all(
        len(read.indices) == len(reader.op.axis)
        and all(index is axis for index, axis in zip(read.indices, reader.op.axis, strict=True))
        for read in uses
    )
    narrow = dtype_of(reader.op.outputs[0].dtype).bytes <= dtype_of(stage.op.outputs[0].dtype).bytes
    small = elements(regions.tile(reader)) <= elements(regions.tile(stage))
    if not (in_place and narrow and small and not reader.op.reduce_axis):
        return False
    taken.add(id(reader))
    return True


class Traffic(Record):
    """Bytes moved between main memory and the chip, or None if a size is known only at run time."""

    bytes_read: int | None
    bytes_written: int | None


def traffic_of(regions: Regions) -> Traffic:
    """Returns the bytes that all cores move.

    A tile that is read several times counts each time.
    """
    read, written = 0, 0
    for stage in regions.record.stages:
        if stage.is_input or stage.inlined or is_phony(stage):
            continue
        times, exact = regions.executions(stage), regions.has_whole_tiles(stage)
        for tensor, sizes in regions.footprint(stage).values():
            maker = regions.producers[id(tensor)]
            if maker.scope == GLOBAL_SCOPE:
                moved = _count_moved_elements(sizes, regions.full_shape(maker), times, exact=exact)
                read += moved * dtype_of(tensor.dtype).bytes
        if stage.scope == GLOBAL_SCOPE:
            for tensor in stage.op.outputs:
                moved = _count_moved_elements(
                    regions.tile(stage), regions.full_shape(stage), times, exact=exact
                )
                written += moved * dtype_of(tensor.dtype).bytes
    return Traffic(
        read if read < RUNTIME_SIZE else None, written if written < RUNTIME_SIZE else None
    )


def is_phony(stage: StageRecord) -> bool:
    """Whether a stage has the instruction ``phony_insn``, which computes and moves nothing."""
    return any(
        directive.value[0] == "phony_insn" for directive in stage.find_directives("emit_insn")
    )


def _count_moved_elements(
    tile: Sequence[int], full: Sequence[int], times: int, *, exact: bool
) -> int:
    """Returns the number of elements that `times` tiles move; the last tiles may be smaller."""
    if not elements(full):
        return 0
    tiles = math.prod(-(-whole // part) for whole, part in zip(full, tile, strict=True))
    if not exact and times % tiles == 0:
        return elements(full) * (times // tiles)
    return elements(tile) * times
