"""Checks a schedule, without executing it, for errors and for code that is slow on the device.

This module exceeds 500 lines because all checks of a schedule belong together.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from tbe_impl.chip.memory_plan import OnChipBuffer, buffers_of, padded_strides, peak
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import (
    Binary,
    Call,
    Const,
    Expr,
    IterVar,
    Read,
    Reduce,
    Var,
    reads,
    strip_casts,
    walk,
)
from tbe_impl.dsl.tensor import Operation, shape_text
from tbe_impl.errors import InputError
from tbe_impl.reachability import reachable
from tbe_impl.records import Record
from tbe_impl.scheduling.instructions import (
    DEVICE_INSTRUCTION,
    SCOPES,
    capacity,
    instruction_of_tag,
)
from tbe_impl.scheduling.records import ScheduleRecord, Split, StageRecord
from tbe_impl.scheduling.schedule import Schedule
from tbe_impl.scheduling.stage_schedule import GLOBAL_SCOPE
from tbe_impl.scheduling.tile_regions import RUNTIME_SIZE, Regions
from tbe_impl.soc import Soc, find_soc, is_instruction_supported

WARNING_SHARE = 0.8
"""Share of a memory above which a check warns, since the device compiler needs some memory too."""


class Finding(Record):
    """An error or a warning of a check.

    Attributes:
        severity: ``error`` if the device rejects the schedule, ``warning`` if the code is slow.
        code: short name of the check.
        stage: name of the stage.
        place: file and line of the schedule call, or of the stage if there is no such call.
        what: the sentence that describes the finding.
        expected, got, remedy: as in `InputError`.
    """

    severity: str
    code: str
    stage: str
    place: str
    what: str
    expected: str
    got: str
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.severity}: {self.place}: {self.what}; expected {self.expected}, "
            f"got {self.got}. {self.remedy}."
        )

    def as_error(self) -> InputError:
        """Returns the finding as an exception."""
        return InputError(
            self.what, place=self.place, expected=self.expected, got=self.got, remedy=self.remedy
        )


def check(
    schedule: Schedule | ScheduleRecord,
    chip: str | Soc,
    *,
    own_instructions: Collection[str] = (),
    raise_errors: bool = False,
) -> tuple[Finding, ...]:
    """Checks a schedule for a chip; returns the findings in stage order.

    For ``cpu``, the function finds only errors that are independent of a device.

    Args:
        schedule: a schedule or its record.
        chip: name or record of the chip.
        own_instructions: names that the operator itself registered as ``tvm.intrin.cce.…``.
        raise_errors: whether to raise the first error instead of returning it.

    Raises:
        InputError: an error was found and `raise_errors` is true, or the chip is unknown.
    """
    record = schedule.record() if isinstance(schedule, Schedule) else schedule
    regions, device = Regions(record), find_soc(chip)
    found = [finding for one in CHECKS for finding in one(regions, device)]
    found += check_instruction_names(regions, own_instructions)
    if not device.is_unlimited:
        found += [finding for one in DEVICE_CHECKS for finding in one(regions, device)]
    places = {stage.op.name: index for index, stage in enumerate(record.stages)}
    found.sort(key=lambda finding: places.get(finding.stage, -1))
    if raise_errors:
        for finding in found:
            if finding.severity == "error":
                raise finding.as_error()
    return tuple(found)


def check_attachment(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that each ``compute_at`` of a stage names a current loop of a consumer."""
    for stage in regions.record.stages:
        if stage.attach is None:
            continue
        parent = regions.record.stage(stage.attach.parent)
        if not _is_transitive_producer(regions, stage, parent):
            users = ", ".join(one.op.name for one in regions.consumers(stage)) or "nobody"
            yield Finding(
                "error",
                "compute_at",
                stage.op.name,
                stage.attach.place,
                f"{stage.op.name} is computed inside {parent.op.name}, which does not need it",
                f"a stage that {stage.op.name} goes into",
                f"{parent.op.name}; {stage.op.name} goes into {users}",
                "Attach it to one of these",
            )
        if not any(leaf is stage.attach.axis for leaf in parent.leaves):
            yield Finding(
                "error",
                "compute_at",
                stage.op.name,
                stage.attach.place,
                f"the loop {stage.attach.axis.name} of {parent.op.name} was split or fused "
                f"after {stage.op.name} was attached to it",
                f"one of {', '.join(leaf.name for leaf in parent.leaves)}",
                stage.attach.axis.name,
                "Split and fuse first, then compute_at",
            )


def _is_transitive_producer(regions: Regions, stage: StageRecord, parent: StageRecord) -> bool:
    """Whether `parent` directly or transitively reads the result of `stage`.

    A transitive read passes through other stages; each of them is attached or inlined.
    """
    through = reachable(
        [stage],
        lambda one: [
            consumer
            for consumer in regions.consumers(one)
            if consumer.inlined or consumer.attach is not None
        ],
        key=id,
    )
    return any(consumer is parent for one in through for consumer in regions.consumers(one))


def check_inlining(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that no inlined stage is a reduction, a library call, an input or an output."""
    for stage in regions.record.stages:
        if not stage.inlined:
            continue
        place = next(one.place for one in stage.find_directives("compute_inline"))
        why = None
        if stage.is_output:
            why = "it is an output of the kernel"
        elif any(isinstance(body, Reduce) for body in stage.op.body):
            why = "it is a reduction"
        elif not stage.op.body:
            why = "it is an input" if stage.is_input else "a library computes it as a whole"
        if why:
            yield Finding(
                "error",
                "compute_inline",
                stage.op.name,
                place,
                f"{stage.op.name} cannot be inlined: {why}",
                "a stage with one expression for each element",
                why,
                "Leave out its compute_inline",
            )


def check_scopes(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that the device knows the memory scope of each stage."""
    for stage in regions.record.stages:
        if stage.scope not in SCOPES:
            yield Finding(
                "error",
                "scope",
                stage.op.name,
                stage.scope_place,
                f"{stage.op.name} is put into a memory that does not exist",
                f"one of {', '.join(sorted(SCOPES))}",
                repr(stage.scope),
                _suggest_nearest(str(stage.scope), SCOPES),
            )


def check_ineffective_requests(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that each requested memory scope or padding has an effect on the device."""
    for stage in regions.record.stages:
        name, width = stage.op.name, dtype_of(stage.op.outputs[0].dtype).bytes
        if stage.is_output and stage.scope_place:
            yield Finding(
                "warning",
                "scope",
                name,
                stage.scope_place,
                f"set_scope of {name} has no effect",
                "a stage between inputs and outputs",
                "an output, which lies where the caller put it",
                f'Leave it out; cache_write({name}, "local.UB") computes it on the chip',
            )
        for one in stage.find_directives("storage_align"):
            if stage.scope == GLOBAL_SCOPE and not stage.inlined:
                yield Finding(
                    "warning",
                    "storage_align",
                    name,
                    one.place,
                    f"storage_align of {name} has no effect",
                    "a stage on the chip",
                    "one in main memory, where rows lie densely",
                    f'Leave it out, or pad the copy that cache_write({name}, "local.UB") makes',
                )
                continue
            tile, axes = regions.tile(stage), [id(axis) for axis in stage.op.axis]
            if id(one.axis) not in axes or len(tile) != len(axes) or max(tile) >= RUNTIME_SIZE:
                continue
            apart = padded_strides(stage, tile)[axes.index(id(one.axis)) + 1] * width
            if apart % chip.block_bytes:
                yield Finding(
                    "warning",
                    "storage_align",
                    name,
                    one.place,
                    f"storage_align of {name} leaves rows that start inside a block",
                    f"rows a multiple of {chip.block_bytes} bytes apart",
                    f"{apart} bytes",
                    f"storage_align(axis, {chip.block_bytes // width}, 0) pads to whole blocks",
                )


def check_instruction_names(regions: Regions, own: Collection[str]) -> Iterator[Finding]:
    """Checks that each instruction name is known to the compiler or contained in `own`."""
    for stage in regions.record.stages:
        for directive in stage.find_directives("emit_insn"):
            name = directive.value[0]
            if name not in DEVICE_INSTRUCTION and name not in own:
                yield Finding(
                    "error",
                    "emit_insn",
                    stage.op.name,
                    directive.place,
                    f"{stage.op.name}: there is no instruction {name!r}",
                    "an instruction of the device",
                    repr(name),
                    _suggest_nearest(str(name), DEVICE_INSTRUCTION),
                )


def _suggest_nearest(name: str, names: Iterable[str]) -> str:
    spelt = {one.lower(): one for one in names}
    close = difflib.get_close_matches(name.lower(), spelt, n=1, cutoff=0.4)
    return (
        f"The nearest one is {spelt[close[0]]!r}"
        if close
        else "See the operators of the device for its names"
    )


_VECTOR_FALLBACKS = {"vmaxs": "vmax", "vmins": "vmin"}
"""Dict from a vector-scalar instruction to its replacement on chips without this instruction."""


def _is_expanded_by_toolkit(op: Operation, name: str, dtype: str, chip: Soc) -> bool:
    """Whether the toolkit composes the operation's instruction from other instructions.

    For example, the toolkit composes vdiv from vrec and vmul.
    """
    word = op.dsl_call.name if op.dsl_call is not None else ""
    return instruction_of_tag(op.tag) == name and dtype in chip.words.get(word, ())


def check_instruction_dtypes(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that each instruction supports the dtype of its operand on this chip."""
    for stage in regions.record.stages:
        for directive in stage.find_directives("emit_insn"):
            instruction = DEVICE_INSTRUCTION.get(directive.value[0], "")
            if not instruction:
                continue
            inputs = stage.op.input_tensors
            dtype = inputs[0].dtype if inputs else stage.op.outputs[0].dtype
            if is_instruction_supported(chip, instruction, dtype) or is_instruction_supported(
                chip, _VECTOR_FALLBACKS.get(instruction, ""), dtype
            ):
                continue
            if _is_expanded_by_toolkit(stage.op, directive.value[0], dtype, chip):
                continue
            takes = (
                ", ".join(sorted(chip.instructions.get(instruction, ())))
                or "nothing: it lacks this instruction"
            )
            yield Finding(
                "error",
                "emit_insn",
                stage.op.name,
                directive.place,
                f"{stage.op.name}: {directive.value[0]} ({instruction}) of {chip.name} "
                f"does not take {dtype}",
                takes,
                dtype,
                "Cast before it and back after it, or build for another chip",
            )


_INSTRUCTION_OPERATORS: Mapping[str, frozenset[str]] = {
    f"vector_{name}": frozenset(operators.split())
    for name, operators in {
        "add": "add",
        "adds": "add sub",
        "sub": "sub",
        "mul": "mul",
        "muls": "mul div",
        "div": "div",
        "max": "max",
        "maxs": "max",
        "min": "min",
        "mins": "min",
        "exp": "exp",
        "ln": "log",
        "sqrt": "sqrt",
        "rsqrt": "rsqrt",
        "abs": "abs",
    }.items()
}
"""Dict from an instruction to the operators that the instruction may implement.

Instructions that are not in the dict are not checked.
"""
_OPERATORS = frozenset[str]().union(*_INSTRUCTION_OPERATORS.values())
_REDUCTION_PATTERN = re.compile(r"(?:^|_)reduce_(sum|max|min|prod)(?:_|$)")
_IMAGE_TO_COLUMNS = frozenset({"im2col", "im2col_v2", "img2col"})


def check_instruction_semantics(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that each instruction computes the expression of its stage.

    The device executes the instruction and ignores the expression.
    """
    for stage in regions.record.stages:
        for directive in stage.find_directives("emit_insn"):
            name = str(directive.value[0])
            for body in stage.op.body:
                against = _find_mismatch(name, stage.op, body)
                if against:
                    yield Finding(
                        "error",
                        "instruction",
                        stage.op.name,
                        directive.place,
                        f"{stage.op.name}: {name} and the expression of the stage disagree, "
                        "and the device follows the instruction",
                        *against,
                    )


def _find_mismatch(name: str, op: Operation, body: Expr) -> tuple[str, str, str] | None:
    """Compares an instruction with the expression of a stage.

    Returns three strings: the operation of the instruction, the operation of the expression, and
    the remedy. Returns None if the two operations may be equivalent.
    """
    if name in _IMAGE_TO_COLUMNS:
        return _find_im2col_mismatch(op, body)
    reduced = _REDUCTION_PATTERN.search(name)
    if reduced is not None and isinstance(body, Reduce) and body.op != reduced[1]:
        return (
            f"{reduced[1]} over {_names(body.axes)}",
            f"{body.op} over {_names(body.axes)}",
            "Name the instruction of the expression",
        )
    found = _operator(body)
    if (
        name in _INSTRUCTION_OPERATORS
        and found in _OPERATORS
        and found not in _INSTRUCTION_OPERATORS[name]
    ):
        return (
            " or ".join(sorted(_INSTRUCTION_OPERATORS[name])),
            f"{body}",
            "Name the instruction of the expression",
        )
    return None


def _names(axes: Iterable[IterVar]) -> str:
    return ", ".join(axis.name for axis in axes)


def _operator(body: Expr) -> str:
    """Returns the operator of an expression that has exactly one operator, otherwise ""."""
    body = strip_casts(body)
    if not isinstance(body, (Binary, Call)):
        return ""
    simple = all(isinstance(strip_casts(part), (Read, Const, Var)) for part in body.children)
    name = body.op if isinstance(body, Binary) else body.name
    return name if simple else ""


def _find_im2col_mismatch(op: Operation, body: Expr) -> tuple[str, str, str] | None:
    """Compares the instruction im2col with the expression of a stage, as `_find_mismatch` does.

    The instruction writes channels along the last axis, and positions along the second last axis.
    """
    if len(op.axis) < 2:
        return None
    *others, last = op.axis
    extent = last.extent
    if isinstance(extent, Const) and extent.value == 1:
        return None
    for read in reads(body):
        along = {id(node) for node in walk(read.indices[-1])} if read.indices else set()
        if id(last) not in along and any(id(axis) in along for axis in others):
            return (
                f"elements of {op.name}[…, position, channel], the channel {last.name} last "
                "in what it reads",
                f"{read}",
                f"Swap the axes of {op.name}: its last one has to be the last of "
                f"{read.tensor.name}",
            )
    return None


def check_divisibility(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that the factor of each split divides the extent of the split loop."""
    for stage in regions.record.stages:
        extents = regions.loops(stage)
        for relation in stage.relations:
            if not isinstance(relation, Split) or relation.nparts is not None:
                continue
            whole, inner = extents[id(relation.parent)], extents[id(relation.inner)]
            if whole >= RUNTIME_SIZE or inner >= RUNTIME_SIZE or whole % inner == 0:
                continue
            yield Finding(
                "warning",
                "division",
                stage.op.name,
                relation.place,
                f"{relation.parent.name} of {stage.op.name} has {whole} steps, "
                f"which {inner} does not divide: the last tile has {whole % inner}",
                f"a divisor of {whole}",
                str(inner),
                f"{_divisor(whole, inner)} divides it",
            )


def _divisor(whole: int, limit: int) -> int:
    """Returns the greatest divisor of `whole` that is at most `limit`."""
    return max(
        other
        for low in range(1, int(whole**0.5) + 1)
        if whole % low == 0
        for other in (low, whole // low)
        if other <= limit
    )


def check_alignment(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks the alignment of rows in on-chip memory, and of tiles that are copied to main memory.

    Each row must start, and each tile must end, at the boundary of a memory block.
    """
    for stage in regions.record.stages:
        if stage.is_input or stage.inlined:
            continue
        tile, width = regions.tile(stage), dtype_of(stage.op.outputs[0].dtype).bytes
        if stage.scope != GLOBAL_SCOPE:
            if _is_accessed_by_row(regions, stage, tile):
                yield from _check_row_alignment(stage, tile, width, chip)
        elif stage.attach is None and _is_copied_out(regions, stage):
            yield from _check_tail_overlap(regions, stage, width, chip)


def _is_accessed_by_row(regions: Regions, stage: StageRecord, tile: tuple[int, ...]) -> bool:
    """Whether instructions access the rows of a stage one by one.

    Instructions access single rows in three cases: a tile contains only a part of each row, a
    reduction along the rows reads the stage, or the stage broadcasts its input.
    """
    if not tile or tile[-1] != regions.full_shape(stage)[-1]:
        return True
    for consumer in regions.consumers(stage):
        along = {id(axis) for axis in consumer.op.reduce_axis}
        for read in (read for body in consumer.op.body for read in reads(body)):
            if regions.producers[id(read.tensor)] is stage and any(
                id(node) in along for node in walk(read.indices[-1])
            ):
                return True
    makers = [regions.producers[id(tensor)] for tensor in stage.op.input_tensors]
    return any(regions.full_shape(maker) != regions.full_shape(stage) for maker in makers)


def _check_row_alignment(
    stage: StageRecord, tile: tuple[int, ...], width: int, chip: Soc
) -> Iterator[Finding]:
    rows = 1
    for size in tile[:-1]:
        rows *= size
    padded = stage.has("storage_align") or stage.has("buffer_align") or stage.has("compute_align")
    if (
        not tile
        or rows == 1
        or padded
        or tile[-1] >= RUNTIME_SIZE
        or tile[-1] * width % chip.block_bytes == 0
    ):
        return
    if len(tile) > 1 and tile[-1] == 1:
        return  # one value per row is stored densely
    factor = chip.block_bytes // width
    place = stage.scope_place or str(stage.op.location)
    yield Finding(
        "warning",
        "alignment",
        stage.op.name,
        place,
        f"rows of {stage.op.name} do not start at a block of {chip.block_bytes} bytes",
        f"rows of a multiple of {chip.block_bytes} bytes",
        f"{tile[-1]} × {width} = {tile[-1] * width} bytes",
        f"storage_align(axis[{len(tile) - 2}], {factor}, 0) pads them",
    )


def _is_copied_out(regions: Regions, stage: StageRecord) -> bool:
    producers = [regions.producers[id(tensor)] for tensor in stage.op.input_tensors]
    return any(
        producer.attach is not None and producer.scope != GLOBAL_SCOPE for producer in producers
    )


def _check_tail_overlap(
    regions: Regions, stage: StageRecord, width: int, chip: Soc
) -> Iterator[Finding]:
    """Checks that adjacent loop iterations do not write to the same memory block.

    If the tile of an iteration ends inside a block, the next iteration writes to the same block.
    """
    level = next(
        (
            one.attach
            for one in reversed(regions.record.stages)
            if one.attach is not None and one.attach.parent in stage.versions
        ),
        None,
    )
    steps = regions.axis_steps(stage, level)
    if steps is None:
        return
    tile = [steps[id(axis)] for axis in stage.op.axis]
    full = regions.full_shape(stage)
    run = 1
    for part, whole in zip(reversed(tile), reversed(full), strict=True):
        run *= part
        if part != whole:
            break
    cores = any(
        one.value[0].thread_tag.startswith("blockIdx") for one in stage.find_directives("bind")
    )
    if tuple(tile) == full or run >= RUNTIME_SIZE or run * width % chip.block_bytes == 0:
        return
    place = level.place if level else str(stage.op.location)
    why = (
        "two cores write into one block" if cores else "each step writes into the block of the next"
    )
    yield Finding(
        "warning",
        "tail",
        stage.op.name,
        place,
        f"tiles {shape_text(tile)} of {stage.op.name} end inside a block: {why}",
        f"a multiple of {chip.block_bytes} bytes",
        f"{run} × {width} = {run * width} bytes",
        f"Choose tiles of a multiple of {chip.block_bytes // width} elements",
    )


_OPERANDS = ("local.L0A", "local.L0B")
"""The memories from which the matrix unit reads."""


def check_capacities(regions: Regions, chip: Soc) -> Iterator[Finding]:
    """Checks that, in each memory, all buffers that are live at the same time fit."""
    buffers = buffers_of(regions, block_bytes=chip.block_bytes)
    for scope in dict.fromkeys(buffer.stage.scope for buffer in buffers):
        limit = capacity(chip, scope)
        use = peak(buffers, scope)
        if not limit or use.bytes <= WARNING_SHARE * limit or use.bytes >= RUNTIME_SIZE:
            continue
        largest = max(use.buffers, key=lambda buffer: buffer.total_bytes)
        over = use.bytes > limit
        # If operands of the matrix unit fit without double buffering, the device does not use it.
        once = (
            peak((replace(buffer, copies=1) for buffer in buffers), scope).bytes
            if scope in _OPERANDS
            else use.bytes
        )
        full = (
            "too small"
            if once > limit
            else "too small for second copies"
            if over
            else "nearly full"
        )
        yield Finding(
            "error" if once > limit else "warning",
            "capacity",
            largest.stage.op.name,
            largest.stage.scope_place or str(largest.stage.op.location),
            f"{scope} of {chip.name} is {full}: {use.bytes * 100 / limit:.0f} %",
            f"at most {limit} bytes"
            if over
            else f"at most {int(WARNING_SHARE * limit)} of {limit} bytes",
            _sum(use.buffers, use.bytes),
            f"Split {largest.at or largest.stage.op.name} into smaller tiles, "
            "compute inside a loop further in, or leave the chip out (soc cpu)",
        )


def _sum(buffers: Iterable[OnChipBuffer], total: int) -> str:
    parts = sorted(buffers, key=lambda buffer: -buffer.total_bytes)
    shown = [
        f"{one.name} {one.copies} × {one.bytes}" if one.copies > 1 else f"{one.name} {one.bytes}"
        for one in parts[:6]
    ]
    return f"{total} bytes: {' + '.join(shown)}{' + …' if len(parts) > 6 else ''}"


Check = Callable[[Regions, Soc], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (check_attachment, check_inlining, check_scopes)
"""Checks for every chip and for ``cpu``."""

DEVICE_CHECKS: tuple[Check, ...] = (
    check_ineffective_requests,
    check_instruction_dtypes,
    check_instruction_semantics,
    check_divisibility,
    check_alignment,
    check_capacities,
)
"""Checks for chips with on-chip memory."""
