"""Reports the tiles, memory use, traffic and findings of a schedule on a chip."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tbe_impl.chip.memory_plan import OnChipBuffer, Traffic, buffers_of, is_phony, peak, traffic_of
from tbe_impl.chip.schedule_checks import Finding, check
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.scheduling.instructions import capacity
from tbe_impl.scheduling.records import ScheduleRecord, StageRecord
from tbe_impl.scheduling.schedule import Schedule
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE
from tbe_impl.scheduling.tile_regions import RUNTIME_SIZE, Regions, elements, size_of, sizes_of
from tbe_impl.soc import Soc, find_soc


@dataclass(frozen=True)
class StageUse:
    """The memory use of one output of a stage.

    Attributes:
        name: name of the tensor.
        scope: the memory of the tensor.
        tile: size of each dimension in one execution of the stage. None for a size that is known
            only at run time.
        dtype: name of the dtype.
        bytes: bytes of one copy, with padding. None if known only at run time.
        copies: 2 if the buffer is double buffered, otherwise 1.
        padding_bytes: part of `bytes` that alignment adds.
        at: stage and loop to which the stage is attached. Empty if the stage is not attached.
        instruction: instruction of the stage. Empty if no instruction is set.
        executions: number of executions on all cores together. None if known only at run time.
    """

    name: str
    scope: str
    tile: tuple[int | None, ...]
    dtype: str
    bytes: int | None
    copies: int
    padding_bytes: int
    at: str
    instruction: str
    executions: int | None


@dataclass(frozen=True)
class MemoryUse:
    """The peak use of a memory. `capacity_bytes` is 0 if the capacity is unknown."""

    scope: str
    bytes: int | None
    capacity_bytes: int

    @property
    def share(self) -> float | None:
        """The peak use divided by the memory's capacity; None if one of the two is unknown."""
        return (
            None
            if self.bytes is None or not self.capacity_bytes
            else self.bytes / self.capacity_bytes
        )


@dataclass(frozen=True)
class ScheduleReport:
    """The report of a schedule on a chip.

    Attributes:
        chip: name of the chip.
        cores: number of cores used.
        core_axis: the loop that is distributed over the cores and the stage of this loop, as text.
            Empty if no loop is distributed.
        stages: executed stages, in order.
        memories: peak use of each memory of the chip that the schedule uses.
        bytes_read, bytes_written: bytes moved between main memory and the chip. None if known only
            at run time.
        least_bytes: lower bound of the bytes moved: every input is read once, and every output is
            written once. None if known only at run time.
        findings: errors and warnings.
    """

    chip: str
    cores: int
    core_axis: str
    stages: tuple[StageUse, ...]
    memories: tuple[MemoryUse, ...]
    bytes_read: int | None
    bytes_written: int | None
    least_bytes: int | None
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that make the device reject the schedule."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that make the code slow on the device."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    def __str__(self) -> str:
        return "\n".join(_text(self))


def report_schedule(
    schedule: Schedule | ScheduleRecord, chip: str | Soc, *, own_instructions: Collection[str] = ()
) -> ScheduleReport:
    """Returns the report of a schedule on a chip.

    Args:
        schedule: a schedule or its record.
        chip: name or record of the chip.
        own_instructions: instruction names that the operator itself registered.

    Raises:
        InputError: the chip is unknown.
    """
    record = schedule.record() if isinstance(schedule, Schedule) else schedule
    device, regions = find_soc(chip), Regions(record)
    buffers = buffers_of(regions, block_bytes=device.block_bytes)
    least = _minimum_traffic(record)
    # Without on-chip buffers there are no tiles; the minimum traffic is reported.
    traffic = Traffic(*least) if device.is_unlimited and not buffers else traffic_of(regions)
    cores, core_axis = _cores(regions)
    scopes = dict.fromkeys(buffer.stage.scope for buffer in buffers)
    return ScheduleReport(
        device.name,
        cores,
        core_axis,
        _stages(regions, buffers),
        tuple(
            MemoryUse(scope, _size_or_none(peak(buffers, scope).bytes), capacity(device, scope))
            for scope in scopes
        ),
        traffic.bytes_read,
        traffic.bytes_written,
        None if least[0] is None or least[1] is None else least[0] + least[1],
        check(record, device, own_instructions=own_instructions),
    )


def _size_or_none(number: int) -> int | None:
    return number if number < RUNTIME_SIZE else None


def _minimum_traffic(record: ScheduleRecord) -> tuple[int | None, int | None]:
    def total(tensors: Sequence[tuple[tuple[int, ...], str]]) -> int | None:
        return _size_or_none(
            sum(elements(shape) * dtype_of(dtype).bytes for shape, dtype in tensors)
        )

    inputs = [
        (sizes_of(stage.op.outputs[0]), stage.op.outputs[0].dtype)
        for stage in record.stages
        if stage.is_input
    ]
    return total(inputs), total([(sizes_of(tensor), tensor.dtype) for tensor in record.outputs])


def _cores(regions: Regions) -> tuple[int, str]:
    """Returns the largest number of cores that a nest uses, and the loop distributed over them."""
    found = (1, "")
    for stage in regions.record.stages:
        extents = regions.loops(stage)
        for directive in stage.find_directives("bind"):
            if directive.axis is None or not directive.value[0].thread_tag.startswith("blockIdx"):
                continue
            steps = extents.get(id(directive.axis), size_of(directive.axis.extent))
            if found[0] < steps < RUNTIME_SIZE or not found[1]:
                found = (min(steps, RUNTIME_SIZE), f"{directive.axis.name} of {stage.op.name}")
    return found


def _stages(regions: Regions, buffers: Sequence[OnChipBuffer]) -> tuple[StageUse, ...]:
    found: list[StageUse] = []
    held = {(id(buffer.stage), buffer.name): buffer for buffer in buffers}
    for stage in regions.record.stages:
        if stage.is_input or stage.inlined or (is_phony(stage) and stage.scope == GLOBAL_SCOPE):
            continue
        tile, times = regions.tile(stage), regions.executions(stage)
        for tensor in stage.op.outputs:
            plain = elements(tile) * dtype_of(tensor.dtype).bytes
            buffer = held.get((id(stage), tensor.name))
            size = buffer.bytes if buffer else plain
            found.append(
                StageUse(
                    tensor.name,
                    stage.scope,
                    tuple(_size_or_none(size) for size in tile),
                    tensor.dtype,
                    _size_or_none(size),
                    buffer.copies if buffer else 1,
                    size - plain if size < RUNTIME_SIZE else 0,
                    ""
                    if stage.attach is None
                    else f"{stage.attach.parent.name}: {stage.attach.axis.name}",
                    _instruction(stage),
                    _size_or_none(times),
                )
            )
    return tuple(found)


def _instruction(stage: StageRecord) -> str:
    return next((str(one.value[0]) for one in stage.find_directives("emit_insn")), "")


def _text(found: ScheduleReport) -> list[str]:
    shared = f"{found.cores} cores share {found.core_axis}" if found.core_axis else "one core"
    lines = [f"schedule on {found.chip}: {shared}", ""]
    rows = [("stage", "memory", "tile", "dtype", "bytes", "times", "instruction", "inside")]
    for stage in found.stages:
        size = "?" if stage.bytes is None else str(stage.bytes)
        rows.append(
            (
                stage.name,
                stage.scope,
                shape_text(["?" if size is None else size for size in stage.tile]),
                stage.dtype,
                f"{stage.copies} × {size}" if stage.copies > 1 else size,
                "?" if stage.executions is None else str(stage.executions),
                stage.instruction,
                stage.at,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.append("")
    for memory in found.memories:
        size = "a size of run time" if memory.bytes is None else f"{memory.bytes} bytes"
        limit = f" of {memory.capacity_bytes}" if memory.capacity_bytes else ", no limit"
        share = "" if memory.share is None else f" ({memory.share * 100:.0f} %)"
        lines.append(f"{memory.scope} at its fullest: {size}{limit}{share}")
    read, written = (
        "a size of run time" if one is None else f"{one} bytes"
        for one in (found.bytes_read, found.bytes_written)
    )
    lines.append(f"main memory: {read} read, {written} written")
    if found.least_bytes and found.bytes_read is not None and found.bytes_written is not None:
        moved = found.bytes_read + found.bytes_written
        lines[-1] += (
            f" ({moved / found.least_bytes:.2f} × reading each input and writing each output once)"
        )
    padding = sum(stage.padding_bytes * stage.copies for stage in found.stages)
    lines.append(f"alignment: {padding} bytes of padding")
    lines += [str(finding) for finding in found.findings] or ["no errors, no warnings"]
    return lines
