"""Software pipelining across rows: one loop reduces a row while another finishes the previous row.

A softmax row takes three loops. The first loop is bound by loads, the second by arithmetic, the
third by non-temporal stores. One fused loop runs the first loop at row t, the second at row t − 1,
and the third at row t − 2. Loads, arithmetic and stores then overlap. Results are bitwise equal to
those of sequential rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.passes.loop_fission import is_contiguous_load, used_names
from tbe_impl.codegen.passes.streaming_store_edges import loops_over_whole_range
from tbe_impl.codegen.passes.vector_loops import number_prefetches
from tbe_impl.records import Record

LONGEST_ROW = 2048
"""Maximum number of elements in a row; the L1 cache holds several such rows."""
MAX_LOOPS = 4
"""Maximum number of loops to fuse.

Fusing three loops makes them 10 % to 20 % faster. Fusing the five loops of the LayerNorm gradients
makes them 10 % to 20 % slower. Four loops were not measured.
"""
PAGE_BYTES = 4096
ALIASING_OFFSET_BYTES = 2048
"""Difference in bytes between the page offsets of an output row and of a row buffer.

A load waits for an earlier store with the same page offset (4K aliasing). For the same reason, each
iteration executes its loads before its stores.
"""


_STREAM, _STEP, _HEAD = ir.Var("stream", ir.FLAG), ir.Var("step"), ir.Var("head", ir.INT)
_TURN, _TOGETHER = ir.Var("turn"), ir.Var("together", ir.FLAG)


class PipelineStage(Record):
    """A vector loop over one row, and the statements between the previous loop and this loop."""

    before: Sequence[ir.Stmt]
    loop: ir.VectorLoop


class RowBuffer(Record):
    """A buffer on the stack that carries the values of a row from one loop to a later loop."""

    name: str
    c: str
    steps: int


def pipeline_rows(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Adds a pipelined alternative to each loop over rows with non-temporal stores."""
    buffers = row_buffers(body)

    def change(inner: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        found = list(inner)
        for loop in loops_over_whole_range(inner):
            pipelined = pipeline_loop(loop, buffers)
            if pipelined is not None:
                found[inner.index(loop)] = ir.TargetIf("SOFTWARE_PIPELINING", (pipelined,), (loop,))
        return tuple(found)

    return ir.map_bodies(body, change)


def row_buffers(body: tuple[ir.Stmt, ...]) -> dict[str, RowBuffer]:
    """Returns the arrays on the stack of a function by name, and pointers to an offset in them."""
    found: dict[str, RowBuffer] = {}
    for node in ir.walk(body):
        if isinstance(node, ir.Alloc) and isinstance(node.shape[0], ir.Int):
            found[node.name] = RowBuffer(node.name, node.element, node.shape[0].value)
        elif isinstance(node, ir.Let) and isinstance(node.value, ir.Pointer):
            base, (offset, *_) = node.value.base, node.value.offsets
            if isinstance(base, ir.Var) and base.name in found:
                memory, behind = found[base.name], offset.value if isinstance(offset, ir.Int) else 0
                found[node.name] = replace(memory, name=node.name, steps=memory.steps - behind)
    return found


def pipeline_loop(loop: ir.For, buffers: Mapping[str, RowBuffer]) -> ir.Block | None:
    """Pipelines the loops inside a loop over rows.

    The body must be a sequence of vector loops of equal length. Only definitions, stores and
    prefetches may stand between these loops. The last vector loop must use non-temporal stores.
    Returns None if one of these conditions does not hold.

    Args:
        loop: the loop over rows.
        buffers: arrays on the stack by name.
    """
    stages = _split_into_stages(loop.body)
    if loop.unroll or not 2 <= len(stages) <= MAX_LOOPS:
        return None
    length = stages[-1].loop.limit
    if not isinstance(length, ir.Index) or not 0 < (length.constant or 0) <= LONGEST_ROW:
        return None
    stores = [base for node in stages[-1].loop.whole if (base := _streamed_base(node))]
    if not stores:
        return None
    stored = dict.fromkeys(
        node.place.base.name
        for node in ir.walk(loop.body)
        if isinstance(node, ir.Store)
        and isinstance(node.place, ir.Pointer)
        and isinstance(node.place.base, ir.Var)
    )
    kept = [buffers[name] for name in stored if name in buffers]
    heads = {stage.loop.head for stage in stages[:-1]}
    lengths = {(stage.loop.begin, stage.loop.limit) for stage in stages}
    at_once = {len(stage.loop.copies) for stage in stages} - {0}
    if len(heads) > 1 or len(lengths) > 1 or len(at_once) > 1:
        return None
    if not all(stage.loop.whole for stage in stages):
        return None
    return _RowPipeline(stages, loop, kept, stores[-1]).build()


def _streamed_base(node: ir.Stmt) -> ir.Expr | None:
    """Returns the pointer to which a non-temporal store writes, or None for any other statement."""
    if isinstance(node, ir.Store) and node.stream is not None:
        return node.place.base if isinstance(node.place, ir.Pointer) else None
    return None


def _split_into_stages(body: Sequence[ir.Stmt]) -> list[PipelineStage]:
    """Divides a loop body into stages; a stage is a vector loop with the statements before it.

    The body may contain only vector loops, definitions, ordinary stores and prefetches, and it must
    end with a vector loop. For any other body, returns an empty list.
    """
    stages: list[PipelineStage] = []
    before: list[ir.Stmt] = []
    for node in body:
        if isinstance(node, ir.VectorLoop) and not any(
            isinstance(inner, ir.VectorLoop) and inner is not node for inner in ir.walk(node)
        ):
            stages.append(PipelineStage(before, node))
            before = []
        elif isinstance(node, (ir.Let, ir.Prefetch, ir.Accumulate, ir.Evaluate)) or (
            isinstance(node, ir.Store) and node.stream is None
        ):
            before.append(node)
        else:
            return []
    return [] if before else stages


class _RowPipeline:
    """Generates the pipelined loop.

    Each name that belongs to a row gets a suffix with the number of the stage, counted from 0. For
    example, ``i0_at2`` is the index of the row that the third loop processes.
    """

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        loop: ir.For,
        kept: Sequence[RowBuffer],
        place: ir.Expr,
    ):
        assert loop.begin is not None
        self.stages, self.row, self.begin, self.end = stages, loop.name, loop.begin, loop.end
        self.kept, self.place = kept, place
        names = [ir.names_in((*stage.before, stage.loop)) for stage in stages]
        self.carried: dict[str, tuple[str, int, int]] = {}
        for first, stage in enumerate(stages):
            for node in stage.before:
                if isinstance(node, ir.Let):
                    last = max(at for at in range(len(stages)) if node.name in names[at])
                    self.carried[node.name] = (node.kind, first, last)

    def build(self) -> ir.Block:
        """Returns a block that declares the row buffers and then runs the pipelined loop.

        A row buffer carries the values of a row from one loop to a later loop (`RowBuffer`).
        """
        count, head = len(self.stages), self.stages[0].loop.head or ir.Int(0)
        last = self.stages[-1].loop
        inside: list[ir.Stmt] = []
        for at in range(count):
            row = ir.Var(f"{self.row}_at{at}")
            in_range = ir.every(
                (
                    ir.op("ge", row, self.begin, kind=ir.FLAG),
                    ir.op("lt", row, self.end, kind=ir.FLAG),
                )
            )
            inside.append(ir.Let(row.name, ir.INDEX, ir.op("sub", _TURN, ir.Int(at))))
            inside.append(ir.Let(_has(at).name, ir.FLAG, in_range))
        for buffer in self.kept:
            for at in range(count):
                turn = ir.op("mod", ir.op("add", _TURN, ir.Int(count - at)), ir.Int(count))
                room = ir.op("mul", turn, ir.Int(_stride(buffer)))
                start = ir.Pointer(ir.Var(f"{buffer.name}_rooms", "pointer"), (room,))
                inside.append(ir.Let(f"{buffer.name}_at{at}", f"{buffer.c} *", start))
        inside += [
            ir.If(_has(at), tuple(self._stage_prologue(at))) for at in reversed(range(count))
        ]
        are_all_there = ir.every((_TOGETHER, *map(_has, range(count))))
        assert are_all_there is not None
        inside.append(ir.If(are_all_there, self._emit_single_loop(head), self._separate_loops()))
        is_equal = ir.op("eq", last.head or ir.Int(0), head, kind=ir.FLAG)
        same_heads = ir.every((_STREAM, is_equal))
        assert same_heads is not None
        behind = ir.op("add", self.end, ir.Int(count - 1))
        return ir.Block(
            (
                *(
                    node
                    for number, row in enumerate(self.kept)
                    for node in self._declare_row_buffers(row, number)
                ),
                *(
                    ir.Let(f"{name}_at{at}", kind, ir.Zero(kind), is_mutable=True)
                    for name, (kind, first, final) in self.carried.items()
                    for at in range(first, final + 1)
                ),
                ir.Let(_TOGETHER.name, ir.INT, None, is_mutable=True),
                ir.Block(
                    (
                        ir.Let(last.name, ir.INDEX, last.begin),
                        ir.Assign(_TOGETHER, same_heads),
                    )
                ),
                ir.For(_TURN.name, self.begin, behind, tuple(inside)),
            )
        )

    def _declare_row_buffers(self, row: RowBuffer, number: int) -> tuple[ir.Stmt, ...]:
        """Declares one copy of a row buffer for each stage (loop).

        All copies start at the same offset within a page. The output rows have another offset, so
        that no load from a copy waits for an earlier store to an output row (4K aliasing).
        """
        size, memory = _bytes_of(row), ir.Var(f"{row.name}_memory", "pointer")
        offset = ir.Int(ALIASING_OFFSET_BYTES * (number + 1))
        output, own = (ir.Cast(ir.ADDRESS, pointer) for pointer in (self.place, memory))
        after = ir.op("add", output, offset, kind=ir.ADDRESS)
        apart = ir.op("sub", after, own, kind=ir.ADDRESS)
        within = ir.op("mod", apart, ir.Int(PAGE_BYTES), kind=ir.ADDRESS)
        place = ir.op("div", within, ir.Int(size), kind=ir.ADDRESS)
        length = len(self.stages) * _stride(row) + PAGE_BYTES // size
        return (
            ir.Alloc(memory.name, row.c, (ir.Int(length),), 64),
            ir.Let(f"{row.name}_rooms", f"{row.c} *", ir.Pointer(memory, (place,))),
        )

    def _stage_prologue(self, at: int) -> list[ir.Stmt]:
        """Returns the statements before a stage's loop.

        These statements first copy the values that the previous stage has computed for the row.
        They then compute the values that this stage defines.
        """
        handed: list[ir.Stmt] = [
            ir.Assign(ir.Var(f"{name}_at{at}", kind), ir.Var(f"{name}_at{at - 1}", kind))
            for name, (kind, first, last) in self.carried.items()
            if first < at <= last
        ]
        own: list[ir.Stmt] = []
        for node in self.stages[at].before:
            if isinstance(node, ir.Let):
                assert node.value is not None
                node = ir.Assign(ir.Var(node.name, node.kind), node.value, node.stage)
            own.append(node)
        return handed + [self._rename_for_stage(node, at) for node in own]

    def _separate_loops(self) -> tuple[ir.Stmt, ...]:
        """Returns the loops of all stages without fusion: one loop after another.

        A loop runs only if its stage has a row to process in the current iteration.
        """
        return tuple(
            ir.If(_has(at), (self._rename_for_stage(replace(stage.loop, cells=()), at),))
            for at, stage in enumerate(self.stages)
        )

    def _emit_single_loop(self, head: ir.Expr) -> tuple[ir.Stmt, ...]:
        """Returns the statements of one loop that is the fusion of the loops of all stages."""
        loops = [stage.loop for stage in self.stages]
        limit, at_once = loops[0].limit, max(len(loop.copies) for loop in loops)
        # the enclosing condition implies `stream`, so no step tests it
        found: list[ir.Stmt] = [
            ir.Let(_STREAM.name, ir.FLAG, ir.Int(1)),
            ir.Let(_HEAD.name, ir.INT, head),
            ir.Let(_STEP.name, ir.INDEX, _HEAD, is_mutable=True),
        ]
        if any(loop.first for loop in loops):
            starts = self._emit_each_loop(
                lambda loop: (
                    ir.Let(loop.name, ir.INDEX, ir.ZERO),
                    ir.Let(loop.head_count.name, ir.INT, _HEAD),
                    *loop.first,
                )
            )
            found.append(ir.If(ir.op("gt", _HEAD, ir.Int(0), kind=ir.FLAG), starts))
        if at_once:
            several = ir.op("mul", ir.Int(at_once), ir.LANES)
            copies = tuple(
                self._emit_vector_block([_vector_copy(loop, copy) for loop in loops])
                for copy in range(at_once)
            )
            found.append(ir.For(_STEP.name, None, limit, copies, several, several))
        vectors = [(ir.Let(loop.name, ir.INDEX, _STEP), *loop.whole) for loop in loops]
        block = self._emit_vector_block(vectors)
        found.append(ir.For(_STEP.name, None, limit, (block,), ir.LANES, ir.LANES))
        left = ir.Cast(ir.INT, ir.op("sub", limit, _STEP))
        ends = self._emit_each_loop(
            lambda loop: (
                (
                    ir.Let(loop.name, ir.INDEX, _STEP),
                    ir.Let(loop.rest_count.name, ir.INT, left),
                    *loop.rest,
                )
                if loop.rest
                else ()
            )
        )
        return (*found, ir.If(ir.op("lt", _STEP, limit, kind=ir.FLAG), ends))

    def _emit_each_loop(
        self, part: Callable[[ir.VectorLoop], tuple[ir.Stmt, ...]]
    ) -> tuple[ir.Stmt, ...]:
        """Returns one block for each stage, with the statements that `part` returns for its loop.

        The names of row variables get the suffix of the stage.
        """
        return tuple(
            ir.Block(tuple(self._rename_for_stage(node, at) for node in part(stage.loop)))
            for at, stage in enumerate(self.stages)
        )

    def _emit_vector_block(self, parts: Sequence[Sequence[ir.Stmt]]) -> ir.Block:
        """Returns a block that processes one vector of every stage's loop.

        The loads come first, then the other statements.
        """
        first: list[ir.Stmt] = []
        then: list[ir.Stmt] = []
        for at, part in enumerate(parts):
            later: set[str] = set()
            for node in part:
                renamed = self._rename_for_stage(node, at)
                is_index = isinstance(node, ir.Let) and node.kind == ir.INDEX
                if (is_index or is_contiguous_load(node)) and not used_names(renamed) & later:
                    first.append(renamed)
                    continue
                then.append(renamed)
                if isinstance(renamed, ir.Let):
                    later.add(renamed.name)
        return ir.Block((*first, *then))

    def _rename_for_stage(self, node: ir.Stmt, at: int) -> ir.Stmt:
        """Adds the suffix of stage `at` to each name that belongs to a row.

        Prefetches always get the suffix of the first stage.
        """
        mine = (self.row, *self.carried, *(row.name for row in self.kept))
        early = {name: f"{name}_at0" for name in mine}

        def rename_prefetch(inner: ir.Node) -> ir.Node:
            return ir.rename(inner, early) if isinstance(inner, ir.Prefetch) else inner

        prefetched = ir.rebuild(node, rename_prefetch)
        return ir.rename(prefetched, {name: f"{name}_at{at}" for name in mine})


def _has(at: int) -> ir.Var:
    """Returns the variable that is true if stage `at` has a row to process in this iteration."""
    return ir.Var(f"has{at}", ir.FLAG)


def _vector_copy(loop: ir.VectorLoop, copy: int) -> tuple[ir.Stmt, ...]:
    """Returns the statements of vector `copy` in one iteration of an unrolled vector loop."""
    place = ir.Int(copy)
    if loop.copies:
        return (
            ir.Let(loop.name, ir.INDEX, _STEP),
            *number_prefetches(loop.copies[copy], place),
        )
    start = ir.op("add", _STEP, ir.op("mul", place, ir.LANES))
    return (ir.Let(loop.name, ir.INDEX, start), *number_prefetches(loop.whole, place))


def _stride(row: RowBuffer) -> int:
    """Returns the number of elements from one copy of a row buffer to the next."""
    return -(-row.steps * _bytes_of(row) // PAGE_BYTES) * PAGE_BYTES // _bytes_of(row)


def _bytes_of(row: RowBuffer) -> int:
    return 4 if row.c == "float" else 8
