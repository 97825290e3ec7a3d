"""Lowers a stage with scheduled loops, and the tiles that are computed inside these loops.

When a reduction loop encloses data loops, the partial results are stored in rows in memory:

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
from tbe_impl.codegen.loop_headers import open_levels, restrict
from tbe_impl.codegen.loop_levels import AttachedTile, LoopScope, TensorBuffer
from tbe_impl.codegen.lowering import Lowering
from tbe_impl.codegen.nest_function import ProgramContext
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


class ScheduledStageWriter:
    """Lowers one stage.

    Args:
        inside: the `Lowering` of the loop bodies, in which the loop variables are already declared.
        memory: the memory of one thread, with its partial sums and tiles.
        around: properties of the program that contains the stage.
        root: the stage's result.
        levels: the loops, outermost first.
        exact: the roles of the loops, such as the position of the vectorized loop.
        shared: position of the parallel loop; None in a tile.
    """

    def __init__(
        self,
        inside: Lowering,
        memory: ThreadRows,
        around: ProgramContext,
        root: Root,
        levels: tuple[Level, ...],
        exact: ScheduledLoops,
        shared: int | None = None,
    ):
        self.inside, self.memory, self.around, self.root = inside, memory, around, root
        self.levels, self.exact, self.shared = levels, exact, shared
        body = root.tensor.op.body[root.tensor.value_index]
        self.body = body if isinstance(body, Reduce) else None
        self.source = contribution(body) if isinstance(body, Reduce) else body
        self.tag = vectors.tag_of(root.tensor.dtype)
        settled = _final_variables(levels[: exact.first_sum])
        axes = [axis.serial for axis in root.tensor.op.axis if axis.serial in inside.extents]
        self.row_axes = [serial for serial in axes if serial not in settled]

    def write(self) -> None:
        """Emits the loops and their bodies."""
        if self.exact.has_private_sums:
            self.row = self.memory.buffers[id(self.root.tensor)]
        elif self.exact.has_rows_in_memory:
            self.row = self._allocate_row()
        self._open(0)

    def _allocate_row(self) -> TensorBuffer:
        """Allocates the row of partial results of a reduction.

        The row is necessary if data loops run inside a reduction loop.
        """
        inside, tensor, count = self.inside, self.root.tensor, ONE
        outside = self.levels[: self.exact.first_sum]
        blocks = {serial: step for level in outside for serial, step in level.parts if step > 1}
        strides: dict[int, Poly] = {}
        origins: dict[int, Poly] = {}
        near = self.levels[self.exact.vector].variables
        outer_first = sorted(self.row_axes, key=near.__contains__)
        for serial in reversed(outer_first):
            origins[serial], size = inside.block_range(serial)
            if serial in blocks:
                size = Poly.from_int(blocks[serial])
                origins[serial] = inside.declare_block(serial, blocks[serial])
            strides[serial] = count
            count = count * size
        steps, origin = (
            tuple(found.get(axis.serial, ZERO) for axis in tensor.op.axis)
            for found in (strides, origins)
        )
        kind = row_prefix(self.tag)
        name = self.memory.area(row_c_type(kind), vectors.lane_bits(self.tag) // 8, count)
        return TensorBuffer(name, steps, tensor.dtype, origin)

    # loops

    def _open(self, at: int) -> None:
        """Emits the loops from level `at` inwards, and the body of the innermost loop."""
        exact, inside = self.exact, self.inside
        has_row = at == exact.first_sum and exact.has_rows_in_memory and not exact.has_private_sums
        if has_row:
            self._emit_over_row(self._start)
        with inside.bind_sources([(self.source, self.root.axes)]):
            if at == exact.inside:
                self._compute()
            elif at == exact.vector:
                ((serial, _),) = self.levels[at].parts
                inside.emit_vector_loop(serial, lambda: self._open_inner(at))
            else:
                level = self.levels[at]
                shared = at == self.shared and len(level.parts) > 1
                open_levels(inside, [level], lambda: self._open_inner(at), shared=shared)
        if has_row:
            self._emit_over_row(self._finish)

    def _open_inner(self, at: int) -> None:
        """Emits the tiles that level `at` computes, then the loops inside this level."""
        with self._tiles(self.levels[at], at):
            self._open(at + 1)

    def _emit_over_row(self, body: Callable[[], None]) -> None:
        """Emits loops over all elements that have a partial sum in the row of partial sums."""
        with self._own_level(), self.inside.bind_sources([]):
            self._loop_over_row(body, 0)

    def _loop_over_row(self, body: Callable[[], None], place: int) -> None:
        inside = self.inside
        serial, is_last = self.row_axes[place], place + 1 == len(self.row_axes)
        if is_last:
            inside.emit_vector_loop(serial, body)
        else:
            inside.emit_serial_loop(serial, lambda: self._loop_over_row(body, place + 1))

    @contextmanager
    def _own_level(self) -> Iterator[LoopScope]:
        """Context manager that collects the statements of the ``with`` body on a new level.

        At the end of the body, the statements are appended to the enclosing level. Values that are
        cached on the new level are discarded.
        """
        scope = LoopScope()
        self.inside.chain.append(scope)
        yield scope
        self.inside.chain.pop()
        self.inside.chain[-1].body += scope.body

    # tiles

    @contextmanager
    def _tiles(self, level: Level, at: int) -> Iterator[None]:
        """Emits the computation of the stage regions (tiles) that `level` requests.

        Reads that are lowered in the body of the ``with`` statement use the tiles.
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
        settled = _final_variables(self.levels[: at + 1])
        tile = tile_of(tensor, inside, self.source, self.root.axes, settled)
        if tile is None or nest is None or inside.vector is not None:
            return False
        strides, count = [], ONE
        for span in reversed(tile):
            strides.append(count)
            count = count * span.size
        dtype = inside.options.temporary_dtype(tensor.dtype)
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
        saved = dict(inside.spans)
        for axis, span in zip(root.tensor.op.axis, tile, strict=True):
            if axis.serial in inside.extents:
                inside.spans[axis.serial] = span.first, span.size
        inside.targets[id(root.tensor)] = buffer
        exact = replace(nest.exact, has_private_sums=False)
        with self._own_level() as scope:
            ScheduledStageWriter(inside, self.memory, self.around, root, nest.levels, exact).write()
            for axis, span in zip(root.tensor.op.axis, tile, strict=True):
                if axis.serial in inside.extents:
                    begin, end = self._tile_range(span, inside.extents[axis.serial])
                    scope.body[:] = [restrict(inside, axis.serial, begin, end, scope.body)]
        inside.spans = saved
        del inside.targets[id(root.tensor)]

    def _tile_range(self, span: Span, extent: Poly) -> tuple[ir.Expr, ir.Expr]:
        """Returns the range of a loop over the tile `span`, limited to the bounds of the tensor."""
        begin: ir.Expr = self.inside.index_expr(span.first)
        end: ir.Expr = self.inside.index_expr(span.first + span.size)
        if not is_nonnegative(span.first):
            begin = ir.call("most", ir.ZERO, begin)
        if not is_nonnegative(extent - span.first - span.size):
            end = ir.call("least", end, self.inside.index_expr(extent))
        return begin, end

    # body of the loops

    def _compute(self) -> None:
        """Emits the computation of one element or of one vector of elements."""
        root, inside, exact = self.root, self.inside, self.exact
        if self.body is None:
            value = inside.compute_stored_element(root.tensor, root.indices)
            inside.store(root.tensor, root.indices, value)
            return
        levels = self.levels[exact.inside :]
        if levels:
            own = tuple((serial, inside.extents[serial]) for serial in _final_variables(levels))
            loops = ReductionLoops(levels, max(exact.vector - exact.inside, 0), {}, own)
            lanes = exact.vector < exact.inside
            value = lower_inner_reduction(inside, self.body, root.axes, loops, lanes=lanes)
        else:
            value = inside.lower_expression(self.source, root.axes)
        if exact.has_rows_in_memory:
            self._store(vectors.combine(self.body.op, self.tag, self._load(), value.expr))
        else:
            value = inside.round_to_device(root.tensor, value)
            inside.store(root.tensor, root.indices, value)

    def _start(self) -> None:
        assert self.body is not None
        self._store(vectors.literal(identity_of(self.body), self.tag))

    def _finish(self) -> None:
        inside, root = self.inside, self.root
        found = inside.define(self._load(), len(inside.chain) - 1)
        inside.store(root.tensor, root.indices, inside.round_to_device(root.tensor, found))

    # rows

    def _place(self) -> tuple[ir.Pointer, ir.Index]:
        """Returns the address of the current partial result, and its stride between lanes."""
        inside = self.inside
        address = inside.address(self.row, self.root.indices)
        step = address.coefficient(inside.vector) if inside.vector is not None else ZERO
        return self.row.pointer(inside.index_expr(address)), inside.index_expr(step or ZERO)

    def _load(self) -> ir.Load:
        return ir.Load(self.tag, row_prefix(self.tag), *self._place())

    def _store(self, value: ir.Expr) -> None:
        place, step = self._place()
        self.inside.chain[-1].body.append(ir.Store(row_prefix(self.tag), place, value, step))


def _final_variables(levels: Sequence[Level]) -> frozenset[int]:
    """Returns the `Level.final_variables` of all loops in `levels`."""
    return frozenset().union(*(level.final_variables for level in levels))
