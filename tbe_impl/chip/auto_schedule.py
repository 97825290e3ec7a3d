"""Schedules a graph in tiles that fit the unified buffer, and distributes the tiles over the cores.

A loop nest iterates over the axes of its largest result. The outer loops are distributed over the
cores. In each iteration, one tile is read into the unified buffer, computed stage by stage, and
written back. Reads are double buffered, so that the next tile is read during the computation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tbe_impl.chip.memory_plan import buffers_of, peak
from tbe_impl.chip.schedule_checks import WARNING_SHARE
from tbe_impl.chip.tiled_nests import TiledNest, count_shared_axes, partition_into_nests
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Expr, IterVar, Read, const
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import Operation, Tensor, thread_axis
from tbe_impl.errors import InputError
from tbe_impl.scheduling.instructions import DEVICE_INSTRUCTION, instruction_of_tag
from tbe_impl.scheduling.schedule import Schedule
from tbe_impl.scheduling.stage_schedule import Stage
from tbe_impl.scheduling.tile_regions import RUNTIME_SIZE, Regions, elements, size_of, sizes_of
from tbe_impl.soc import Soc, find_soc, is_instruction_supported

UB = "local.UB"
REDUCTION_TILE = 128
"""Tile size on the last axis if a reduction axis is split; one instruction processes a tile row."""


@dataclass(frozen=True)
class Tiling:
    """Tiling decisions of a loop nest.

    The main result is the result whose axes are the loops of the nest (`TiledNest.main`).

    Attributes:
        order: positions of the axes of the main result in the order of the loops, outermost first.
        at: index in `order` of the axis that is split.
        factor: split factor: the number of elements of the split axis in a tile.
        cores: number of cores that share the loops outside of the tile.
        reduce_at: index of the reduction axis that is split, because the input of the reduction
            does not fit the unified buffer. None if no reduction axis is split.
        reduce_factor: split factor of the reduction axis.
    """

    order: tuple[int, ...]
    at: int
    factor: int
    cores: int = 1
    reduce_at: int | None = None
    reduce_factor: int = 1


def auto_schedule(outputs: Any, option: Any = None, *, chip: str | Soc = "Ascend910A") -> Schedule:
    """Returns a schedule that is computed only when it is first accessed.

    Building and running a kernel on the CPU does not access the schedule.

    Args:
        outputs: a tensor, or a list of tensors.
        option: an option that operators pass; ignored.
        chip: name or record of the chip. For ``cpu`` nothing is tiled, because a CPU has no on-chip
            memory of limited size.

    Raises:
        InputError: an output is not a tensor, or the chip is unknown.
    """
    given = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    for tensor in given:
        if not isinstance(tensor, Tensor):
            raise InputError(
                "auto_schedule takes tensors",
                place=str(user_location()),
                expected="a tensor, or a list of them",
                got=type(tensor).__name__,
            )
    device = find_soc(chip)
    unique = list({id(tensor): tensor for tensor in given}.values())
    return Schedule(unique, plan=lambda schedule: _plan(schedule, unique, device))


def _plan(schedule: Schedule, outputs: Sequence[Tensor], chip: Soc) -> None:
    if chip.is_unlimited:
        return
    cut_at: frozenset[int] = frozenset()
    merge = True
    while True:
        nests = partition_into_nests(outputs, cut_at=cut_at, merge=merge)
        tilings = [_choose_tiling(outputs, nest, chip) for nest in nests]
        too_large = [
            op
            for nest, tiling in zip(nests, tilings, strict=True)
            if tiling is None
            for op in nest.inner_reductions
        ]
        more = cut_at | {id(op) for op in too_large}
        if not too_large or (more == cut_at and not merge):
            break
        cut_at, merge = more, False
    for nest, tiling in zip(nests, tilings, strict=True):
        _apply_tiling(schedule, nest, tiling or _fallback_tiling(nest), chip)


def _fallback_tiling(nest: TiledNest) -> Tiling:
    return Tiling(tuple(range(len(nest.main.axis))), 0, 1)


def _choose_tiling(outputs: Sequence[Tensor], nest: TiledNest, chip: Soc) -> Tiling | None:
    """Returns the tiling with the largest tile that fits the unified buffer; None if none fits."""
    sizes = sizes_of(nest.main.outputs[0])
    met = [*nest.inputs(), *(tensor for op in nest.members for tensor in op.outputs)]
    if not sizes or any(not elements(sizes_of(tensor)) for tensor in met):
        return _fallback_tiling(nest)  # no axis to tile
    limit = int(chip.unified_buffer_bytes * WARNING_SHARE)
    order, cuttable = _order_axes(outputs, nest, chip)
    for at in range(cuttable):
        trial = Tiling(order, at, 1)
        factor = _search_largest_factor(
            _make_capacity_test(outputs, nest, trial, chip, limit), sizes[order[at]], limit
        )
        if factor:
            return _distribute_over_cores(nest, replace(trial, factor=factor), cuttable, chip)
    if not nest.main.reduce_axis or nest.inner_reductions:
        return None
    last = max((at for at, axis in enumerate(order) if sizes[axis] > 1), default=0)
    tile = Tiling(order, last, min(sizes[order[last]], REDUCTION_TILE))
    for at, axis in enumerate(nest.main.reduce_axis):
        trial = replace(tile, reduce_at=at)
        factor = _search_largest_factor(
            _make_capacity_test(outputs, nest, trial, chip, limit), size_of(axis.extent), limit
        )
        if factor:
            extent = size_of(axis.extent)
            even = (
                _balance_factor(extent, factor, _block(nest, chip))
                if extent < RUNTIME_SIZE
                else factor
            )
            return _distribute_over_cores(
                nest, replace(trial, reduce_factor=even), len(order), chip
            )
    return None


def _order_axes(
    outputs: Sequence[Tensor], nest: TiledNest, chip: Soc
) -> tuple[tuple[int, ...], int]:
    """Returns the axes of `nest.main` in loop order, and the number of leading splittable axes.

    An axis may be split if all results of the nest have this axis, and if tiling this axis
    recomputes no large stage.
    """
    sizes = sizes_of(nest.main.outputs[0])
    axes = range(len(sizes))
    shared = min(
        (count_shared_axes(nest.main, other) or 0 for other in nest.others), default=len(sizes)
    )
    if not nest.inner_reductions:
        return tuple(axes), max(shared, 1)
    good = [
        axis
        for axis in axes
        if axis < shared and _can_tile_without_recomputation(outputs, nest, axis, chip)
    ]
    return (*good, *(axis for axis in axes if axis not in good)), len(good)


def _can_tile_without_recomputation(
    outputs: Sequence[Tensor], nest: TiledNest, axis: int, chip: Soc
) -> bool:
    """Whether tiling of an axis recomputes no large stage, for example a row reduction."""
    order = (axis, *(other for other in range(len(nest.main.axis)) if other != axis))
    scratch = Schedule(outputs)
    _apply_tiling(scratch, nest, Tiling(order, 0, 1), chip)
    regions = Regions(scratch.record())
    sizes = sizes_of(nest.main.outputs[0])
    for stage in regions.record.stages:
        if stage.scope == UB:
            full = elements(regions.full_shape(stage))
            if elements(regions.tile(stage)) * sizes[axis] > 2 * max(full, elements(sizes)):
                return False
    return True


def _make_capacity_test(
    outputs: Sequence[Tensor], nest: TiledNest, trial: Tiling, chip: Soc, limit: int
) -> Callable[[int], bool]:
    """Returns a function that tests whether the tile of a split factor is small enough.

    A tile is small enough if the nest needs at most `limit` bytes of the unified buffer.
    """
    scratch = Schedule(outputs)
    inner = _apply_tiling(scratch, nest, replace(trial, reduce_factor=1), chip)
    record = scratch.record()

    def fits(factor: int) -> bool:
        regions = Regions(record, factors={id(inner): factor})
        return peak(buffers_of(regions, block_bytes=chip.block_bytes), UB).bytes <= limit

    return fits


def _search_largest_factor(fits: Callable[[int], bool], size: int, limit: int) -> int:
    """Finds, by bisection, the greatest factor up to `size` and `limit` for which `fits` is true.

    Returns 0 if `fits` is false for the factor 1.
    """
    low, high = 0, min(size, limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _distribute_over_cores(nest: TiledNest, tiling: Tiling, cuttable: int, chip: Soc) -> Tiling:
    """Shrinks the tiles so that every core gets a tile, if possible.

    The tiles have nearly equal sizes. If possible, the size of a tile is a multiple of a memory
    block.
    """
    sizes = sizes_of(nest.main.outputs[0])
    block = _block(nest, chip)
    while tiling.at + 1 < cuttable:
        steps = math.prod(sizes[axis] for axis in tiling.order[: tiling.at + 1])
        inside = math.prod(sizes[axis] for axis in tiling.order[tiling.at + 1 :])
        if steps >= chip.cores or inside < 32 * block:
            break
        tiling = replace(tiling, at=tiling.at + 1, factor=sizes[tiling.order[tiling.at + 1]])
    size = sizes[tiling.order[tiling.at]]
    outside = math.prod(sizes[axis] for axis in tiling.order[: tiling.at])
    inside = math.prod(sizes[axis] for axis in tiling.order[tiling.at + 1 :])
    unit = block // math.gcd(block, inside) if inside < RUNTIME_SIZE else 1
    most = tiling.factor
    if size < RUNTIME_SIZE and outside < chip.cores:
        share = -(-size // -(-chip.cores // outside))
        most = min(most, max(share, min(unit, size)))
    if size < RUNTIME_SIZE:
        most = _balance_factor(size, most, unit)
    steps = outside * -(-size // most)
    return replace(tiling, factor=most, cores=min(chip.cores, steps))


def _block(nest: TiledNest, chip: Soc) -> int:
    """Returns the number of elements in a memory block, for the narrowest dtype that is copied."""
    results = [tensor for op in nest.results for tensor in op.outputs]
    return chip.block_bytes // min(
        dtype_of(tensor.dtype).bytes for tensor in (*results, *nest.inputs())
    )


def _balance_factor(size: int, most: int, unit: int) -> int:
    """Returns a tile size of at most `most` elements.

    If possible, the tile size divides `size` and is a multiple of `unit`.
    """
    for step in (unit, 1):
        divisors = [
            one for one in range(max(most // 2, 1), most + 1) if size % one == 0 and one % step == 0
        ]
        if divisors:
            return divisors[-1]
    nearly = -(-size // -(-size // most))
    up = -(-nearly // unit) * unit
    return up if up <= most else max(most // unit * unit, min(most, unit))


def _apply_tiling(schedule: Schedule, nest: TiledNest, tiling: Tiling, chip: Soc) -> IterVar:
    """Applies a tiling to a schedule; returns the loop whose extent is the tile size."""
    stages: list[Stage] = []
    for tensor in nest.inputs():
        readers = [op for op in nest.members if any(read is tensor for read in op.input_tensors)]
        copy = schedule[schedule.cache_read(tensor, UB, readers)]
        copy.double_buffer()
        _set_instruction(copy, "dma_copy")
        stages.append(copy)
    computed: dict[int, Stage] = {}
    for op in nest.members:
        if op in nest.results:
            made = schedule.cache_write(list(op.outputs), UB)
            inside = list(made) if isinstance(made, list) else [made]
            schedule.read_instead((one for one in nest.members if one is not op), op, inside)
            _set_instruction(schedule[op], "dma_copy")
            computed[id(op)] = schedule[inside[0]]
            stages += [computed[id(op)], schedule[op]]
        else:
            schedule[op].set_scope(UB)
            computed[id(op)] = schedule[op]
            stages.append(schedule[op])
    for op in nest.members:
        _set_instruction(computed[id(op)], _instruction(op, chip))
    _pad_rows(nest, stages, chip)
    anchor = (
        schedule[nest.main]
        if not nest.others
        else schedule.add_stage(_make_phony_operation(schedule, nest))
    )
    if nest.others:
        _set_instruction(anchor, "phony_insn")
    return _schedule_loops(anchor, stages, computed[id(nest.main)], tiling)


def _pad_rows(nest: TiledNest, stages: Sequence[Stage], chip: Soc) -> None:
    """Aligns rows to memory blocks in a nest with reductions or broadcasts.

    In nests with reductions or broadcasts, instructions start at the beginning of each row.
    """
    shapes = {
        sizes_of(tensor) for op in nest.members for tensor in (*op.outputs, *op.input_tensors)
    }
    if len(shapes) == 1:
        return
    for stage in stages:
        tensor = stage.op.outputs[0]
        row = size_of(tensor.shape[-1]) * dtype_of(tensor.dtype).bytes if tensor.shape else 0
        if (
            stage.scope == UB
            and tensor.ndim > 1
            and size_of(tensor.shape[-1]) > 1
            and row % chip.block_bytes
        ):
            stage.storage_align(
                stage.op.axis[-2], chip.block_bytes // dtype_of(tensor.dtype).bytes, 0
            )


def _schedule_loops(anchor: Stage, stages: Sequence[Stage], main: Stage, tiling: Tiling) -> IterVar:
    axes = [anchor.op.axis[position] for position in tiling.order]
    anchor.reorder(*axes)
    outer, inner = anchor.split(axes[tiling.at], factor=tiling.factor)
    fused = anchor.fuse(*axes[: tiling.at], outer)
    core, step = anchor.split(fused, nparts=tiling.cores)
    anchor.bind(core, thread_axis("blockIdx.x"))
    searched, deeper = inner, None
    if tiling.reduce_at is not None:
        reduced = main.op.reduce_axis[tiling.reduce_at]
        above, searched = main.split(reduced, factor=tiling.reduce_factor)
        before = main.op.reduce_axis[: tiling.reduce_at]
        after = main.op.reduce_axis[tiling.reduce_at + 1 :]
        main.reorder(*before, above, *main.op.axis, searched, *after)
        deeper = above
    for stage in stages:
        if stage is anchor:
            continue
        if deeper is not None and stage is not main:
            stage.compute_at(main, deeper)
        else:
            stage.compute_at(anchor, step)
    return searched


def _make_phony_operation(schedule: Schedule, nest: TiledNest) -> Operation:
    """Creates an operation that depends on every result of a nest and computes nothing."""
    main = schedule[nest.main].op
    axes = [IterVar(axis.dom, axis.name) for axis in main.axis]
    body: list[Expr] = []
    shape = main.outputs[0].shape
    for op in nest.results:
        shared = count_shared_axes(nest.main, op) or 0
        for tensor in schedule[op].op.outputs:
            index = [axes[at] if at < shared else const(0) for at in range(tensor.ndim)]
            body.append(Read(tensor, index))
    return Operation(
        "compute",
        "results",
        [shape] * len(body),
        [read.dtype for read in body],
        axis=axes,
        body=body,
    )


def _instruction(op: Operation, chip: Soc) -> str:
    """Returns the instruction for an operation.

    Returns ``vector_auto`` if the chip does not support the instruction for the operand's dtype.
    """
    if op.reduce_axis:
        return f"vector_reduce_{getattr(op.body[0], 'op', 'sum')}"
    name = instruction_of_tag(op.tag)
    device, dtype = DEVICE_INSTRUCTION[name], (op.input_tensors or op.outputs)[0].dtype
    return name if not device or is_instruction_supported(chip, device, dtype) else "vector_auto"


def _set_instruction(stage: Stage, instruction: str) -> None:
    """Assigns an instruction to the outermost loop of a stage.

    A stage without loops, or a stage that already has an instruction, is left unchanged.
    """
    if stage.leaf_iter_vars and not any(
        one.name == "emit_insn" for one in stage.record().directives
    ):
        stage.emit_insn(stage.leaf_iter_vars[0], instruction)
