"""Emits a loop nest whose loops a schedule fixes: its stages, its function and its parallel parts.

When a reduction loop encloses data loops, the partial results are stored in rows:

    for the loops outside all reduction loops:
        fill the rows with the identity
        for the other loops, in the requested order:
            accumulate into the rows
        store the rows

A stage that is computed tile by tile inside such a loop has its own loops over the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import text_of
from tbe_impl.codegen.loop_headers import open_levels, parallel_trip_count, range_of
from tbe_impl.codegen.loop_levels import (
    THREAD_RANGE,
    AttachedTile,
    LoopRange,
    LoopScope,
    TensorBuffer,
    Value,
)
from tbe_impl.codegen.lowering import Lowering
from tbe_impl.codegen.nest_function import BEGIN_AND_END, NestCode, NestFunction, ProgramContext
from tbe_impl.codegen.planning.index_ranges import is_nonnegative
from tbe_impl.codegen.planning.loop_orders import Level
from tbe_impl.codegen.planning.partition import LoopNest, Root, plan_scheduled_nest
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.planning.reduction_loops import ReductionLoops
from tbe_impl.codegen.planning.scheduled_loops import ScheduledLoops
from tbe_impl.codegen.reductions import (
    contribution,
    identity_of,
    lower_inner_reduction,
    row_prefix,
)
from tbe_impl.codegen.thread_partial_sums import ThreadRows, row_c_type
from tbe_impl.codegen.tiles import Span, tile_of
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor

HALF_PRECISION_DTYPES = ("float16", "bfloat16")


class ScheduledStageWriter:
    """Emits the loops of one stage.

    Args:
        inside: lowering of the loop bodies; the loop variables are already declared.
        memory: the memory areas of a thread.
        around: properties of the program.
        root: the stage's result.
        levels, exact: the loops and their roles.
    """

    def __init__(
        self,
        inside: Lowering,
        memory: ThreadRows,
        around: ProgramContext,
        root: Root,
        levels: tuple[Level, ...],
        exact: ScheduledLoops,
    ):
        self.inside, self.memory, self.around, self.root = inside, memory, around, root
        self.levels, self.exact = levels, exact
        body = root.tensor.op.body[root.tensor.value_index]
        self.body = body if isinstance(body, Reduce) else None
        self.source = contribution(body) if isinstance(body, Reduce) else body
        self.tag = vectors.tag_of(root.tensor.dtype)
        self.origin: dict[int, Poly] = {}

    def write(self, *, shared: int | None = None) -> None:
        """Emits the loops and their bodies; `shared` is the position of the parallel loop."""
        self.shared = shared
        if self.exact.together:
            self.row = self.memory.buffers[id(self.root.tensor)]
        elif self.exact.has_rows_in_memory:
            self.row = self._allocate_row()
        self._open(0)

    def _allocate_row(self) -> TensorBuffer:
        """Allocates the row of partial results for data loops that run inside a reduction loop."""
        inside, tensor = self.inside, self.root.tensor
        outside = self.levels[: self.exact.first_sum]
        settled = frozenset().union(*(level.final_variables for level in outside))
        blocks = {serial: step for level in outside for serial, step in level.parts if step > 1}
        strides: dict[int, Poly] = {}
        count = ONE
        near = {serial for serial, _ in self.levels[self.exact.vector].parts}
        axes = [axis.serial for axis in reversed(tensor.op.axis) if axis.serial in inside.extents]
        for serial in sorted(axes, key=lambda item: item not in near):
            if serial in settled:
                continue
            strides[serial] = count
            first, size = inside.block_range(serial)
            if serial in blocks:
                first, size = (
                    inside.declare_block(serial, blocks[serial]),
                    Poly.from_int(blocks[serial]),
                )
            self.origin[serial] = first
            count = count * size
        steps = tuple(strides.get(axis.serial, ZERO) for axis in tensor.op.axis)
        kind = row_prefix(self.tag)
        name = self.memory.area(row_c_type(kind), vectors.lane_bits(self.tag) // 8, count)
        return TensorBuffer(name, steps, tensor.dtype)

    # loops

    def _open(self, at: int) -> None:
        """Emits the loops from level `at` on, with their body."""
        exact = self.exact
        if at == exact.first_sum and exact.has_rows_in_memory and not exact.together:
            self._loop_over_rows(self._start)
            self._open_level(at)
            self._loop_over_rows(self._finish)
        else:
            self._open_level(at)

    def _open_level(self, at: int) -> None:
        exact, inside = self.exact, self.inside
        if at == exact.inside:
            with inside.bind_sources([(self.source, self.root.axes)]):
                self._compute()
            return
        level = self.levels[at]

        def open_next() -> None:
            with self._tiles(level, at):
                self._open(at + 1)

        with inside.bind_sources([(self.source, self.root.axes)]):
            if at == exact.vector:
                ((serial, _),) = level.parts
                covered = range_of(inside, serial)
                inside.emit_vector_loop(serial, open_next, covered=covered)
            else:
                shared = at == self.shared and len(level.parts) > 1
                open_levels(inside, [level], open_next, shared=shared)

    def _loop_over_rows(self, body: Callable[[], None]) -> None:
        """Emits loops over all elements whose partial sums are in the row."""
        inside = self.inside
        outside = self.levels[: self.exact.first_sum]
        settled = frozenset().union(*(level.final_variables for level in outside))
        axes = [axis.serial for axis in self.root.tensor.op.axis if axis.serial in inside.extents]
        left = [serial for serial in axes if serial not in settled]
        scope = LoopScope()
        inside.chain.append(scope)
        with inside.bind_sources([]):
            self._emit_nested_loops(left, body)
        inside.chain.pop()
        inside.chain[-1].body += scope.body

    def _emit_nested_loops(self, serials: Sequence[int], body: Callable[[], None]) -> None:
        covered = range_of(self.inside, serials[0])
        if len(serials) == 1:
            self.inside.emit_vector_loop(serials[0], body, covered=covered)
        else:
            self.inside.emit_serial_loop(
                serials[0], lambda: self._emit_nested_loops(serials[1:], body), covered
            )

    # tiles

    @contextmanager
    def _tiles(self, level: Level, at: int) -> Iterator[None]:
        """Emits the computation of the stage regions (tiles) that `level` requests.

        Reads inside the ``with`` block use the tiles.
        """
        inside, filled = self.inside, []
        for number in level.tiles:
            for tensor in self.around.named[number].op.outputs:
                if id(tensor) not in inside.buffers and self._fill_tile(tensor, at):
                    filled.append(id(tensor))
        yield
        for key in filled:
            del inside.buffers[key]

    def _fill_tile(self, tensor: Tensor, at: int) -> bool:
        """Emits the computation of a tile.

        Returns False, and emits nothing, if each element is better computed where it is read.
        """
        inside = self.inside
        nest = plan_scheduled_nest(
            tensor, {*inside.buffers}, self.around.exact.get(id(tensor), ()), whatever=True
        )
        settled = frozenset().union(*(level.final_variables for level in self.levels[: at + 1]))
        tile = tile_of(tensor, inside, self.source, self.root.axes, settled)
        if tile is None or nest is None or inside.vector is not None:
            return False
        strides, count = [], ONE
        for span in reversed(tile):
            strides.append(count)
            count = count * span.size
        dtype = (
            "float32"
            if tensor.dtype in HALF_PRECISION_DTYPES and inside.options.rounding != "device"
            else tensor.dtype
        )
        kind = dtype_of(dtype)
        name = self.memory.area(kind.c, kind.bytes, count)
        origin = tuple(span.first for span in tile)
        buffer = TensorBuffer(
            name, (*reversed(strides),), dtype, origin, count, len(inside.chain) - 1
        )
        self._write_tile(nest, tile, buffer)
        inside.buffers[id(tensor)] = buffer
        inside.tiles[id(tensor)] = AttachedTile(
            nest, self.root.tensor, at, tuple(span.size for span in tile)
        )
        return True

    def _write_tile(self, nest: LoopNest, tile: Sequence[Span], buffer: TensorBuffer) -> None:
        inside, (root,) = self.inside, nest.roots
        assert nest.exact is not None
        for serial, extent in nest.loops:
            inside.declare_loop(serial, extent)
        saved = dict(inside.parts), dict(inside.spans)
        for axis, span in zip(root.tensor.op.axis, tile, strict=True):
            if axis.serial in inside.extents:
                inside.spans[axis.serial] = span.first, span.size
                inside.parts[axis.serial] = self._tile_range(span, inside.extents[axis.serial])
        inside.targets[id(root.tensor)] = buffer
        scope = LoopScope()
        inside.chain.append(scope)
        exact = replace(nest.exact, together=False)
        ScheduledStageWriter(inside, self.memory, self.around, root, nest.levels, exact).write()
        inside.chain.pop()
        inside.chain[-1].body += scope.body
        inside.parts, inside.spans = saved
        del inside.targets[id(root.tensor)]

    def _tile_range(self, span: Span, extent: Poly) -> LoopRange:
        """Returns the range of a loop over a tile, clamped to the tensor."""
        begin: ir.Expr = self.inside.index_expr(span.first)
        end: ir.Expr = self.inside.index_expr(span.first + span.size)
        if not is_nonnegative(span.first):
            begin = ir.call("most", ir.ZERO, begin)
        if not is_nonnegative(extent - span.first - span.size):
            end = ir.call("least", end, self.inside.index_expr(extent))
        return LoopRange(begin, end)

    # body of the loops

    def _compute(self) -> None:
        """Emits the computation of one element or of one vector of elements."""
        root, inside = self.root, self.inside
        if self.body is None:
            inside.store(
                root.tensor, root.indices, inside.compute_stored_element(root.tensor, root.indices)
            )
            return
        levels = self.levels[self.exact.inside :]
        if levels:
            loops = ReductionLoops(
                levels, max(self.exact.vector - self.exact.inside, 0), {}, self._reduction_loops()
            )
            value = lower_inner_reduction(
                inside, self.body, root.axes, loops, lanes=self.exact.vector < self.exact.inside
            )
        else:
            value = inside.lower_expression(self.source, root.axes)
        if not self.exact.has_rows_in_memory:
            inside.store(root.tensor, root.indices, self._round_to_device(value))
            return
        self._store(vectors.combine(self.body.op, self.tag, self._load(), value.expr))

    def _reduction_loops(self) -> tuple[tuple[int, Poly], ...]:
        """Returns serial number and extent of the reduction loops inside all data loops."""
        own = {
            serial for level in self.levels[self.exact.inside :] for serial in level.final_variables
        }
        return tuple((serial, self.inside.extents[serial]) for serial in own)

    def _round_to_device(self, value: Value) -> Value:
        tensor, inside = self.root.tensor, self.inside
        if inside.options.rounding == "device" and tensor.dtype in ("float16", "bfloat16"):
            rounded = vectors.cast("float32", tensor.dtype, value.expr)
            return inside.let(rounded, len(inside.chain) - 1)
        return value

    def _start(self) -> None:
        assert self.body is not None
        self._store(vectors.literal(identity_of(self.body), self.tag))

    def _finish(self) -> None:
        inside = self.inside
        found = inside.define(self._load(), len(inside.chain) - 1)
        inside.store(self.root.tensor, self.root.indices, self._round_to_device(found))

    # rows

    def _place(self) -> tuple[ir.Pointer, ir.Index]:
        """Returns the address of the current partial result, and its stride from lane to lane."""
        inside, address = self.inside, ZERO
        for index, stride in zip(self.root.indices, self.row.strides, strict=True):
            first = sum((self.origin.get(serial, ZERO) for serial in index.variables), ZERO)
            address = address + (index - first) * stride
        step = address.coefficient(inside.vector) if inside.vector is not None else ZERO
        return self.row.pointer(inside.index_expr(address)), inside.index_expr(step or ZERO)

    def _load(self) -> ir.Load:
        place, step = self._place()
        return ir.Load(self.tag, row_prefix(self.tag), place, step)

    def _store(self, value: ir.Expr) -> None:
        place, step = self._place()
        self.inside.chain[-1].body.append(ir.Store(row_prefix(self.tag), place, value, step))


class ScheduledNestWriter:
    """Emits one loop nest as C.

    Args:
        number: number of the nest; part of C names.
        nest: the nest, which has one root.
        around: properties of the program.
        readable: ``id`` of the tensors that are complete before the nest.
    """

    def __init__(self, number: int, nest: LoopNest, around: ProgramContext, readable: set[int]):
        assert nest.exact is not None
        (self.root,) = nest.roots
        self.nest, self.exact, self.around = nest, nest.exact, around
        self.function = NestFunction(number, nest, around)
        buffers = {key: item for key, item in around.buffers.items() if key in readable}
        targets = {id(self.root.tensor): around.buffers[id(self.root.tensor)]}
        self.inside = Lowering(
            buffers,
            targets,
            around.names,
            around.options,
            (),
            around.slow,
            around.sums,
            around.short,
        )

    def write(self) -> NestCode:
        """Returns the functions of the nest and the statements that call them."""
        nest, inside, function, together = (
            self.nest,
            self.inside,
            self.function,
            self.exact.together,
        )
        for serial, extent in nest.loops:
            inside.declare_loop(serial, extent)
        parted = nest.levels[nest.shared]
        if nest.shared:
            # otherwise each thread would recompute a reduction that depends only on loops outside
            # the parallel loop
            inside.chain[0].blocks = parted.variables
        if len(parted.parts) == 1:
            inside.parts[parted.parts[0][0]] = THREAD_RANGE
        memory = ThreadRows(function, [self.root] if together else [])
        stage = ScheduledStageWriter(
            inside, memory, self.around, self.root, nest.levels, self.exact
        )
        stage.write(shared=nest.shared)
        steps, grain = parallel_trip_count(inside, parted), nest.grain or 1
        body = inside.chain[0].body
        if memory.is_empty:
            own = function.build(BEGIN_AND_END, (), body)
            sequential_call = f"{function.name}(b, s, INT64_C(0), {text_of(steps)});"
            part, call = function.emit_parallel_call(steps, grain, sequential_call)
            return function.code((own,), steps, part, call)
        parameters = (*BEGIN_AND_END, ir.Parameter("rows", "char *"))
        own = function.build(parameters, memory.starts(), body)
        part, call = memory.call(steps, grain, together=together)
        functions = (own, *([memory.merge_function()] if together else []))
        return function.code(functions, steps, part, call)
