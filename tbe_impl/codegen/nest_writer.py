"""Emits one loop nest as C: its function, its parallel loop, and the merge of partial results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.emit_c import c_type
from tbe_impl.codegen.loop_headers import (
    emit_level,
    parallel_trip_count,
    restrict_to_thread,
)
from tbe_impl.codegen.loop_levels import TensorBuffer
from tbe_impl.codegen.lowering import Lowering
from tbe_impl.codegen.nest_function import NestCode, NestFunction, ProgramContext
from tbe_impl.codegen.passes.half_precision_tables import HalfLookupTable, fit_lookup_table
from tbe_impl.codegen.passes.row_buffers import CACHE_LINE_BYTES
from tbe_impl.codegen.passes.short_rows import has_short_rows
from tbe_impl.codegen.passes.table_loops import MIN_TABLE_ELEMENTS
from tbe_impl.codegen.passes.unary_half_functions import unary_function_of
from tbe_impl.codegen.planning.access_analysis import element_count, merge_axes
from tbe_impl.codegen.planning.index_ranges import Piece
from tbe_impl.codegen.planning.loop_orders import Level
from tbe_impl.codegen.planning.partition import LoopNest, Root
from tbe_impl.codegen.reductions import accumulate, lower_partial_reduction, reduce_of
from tbe_impl.codegen.scheduled_nest import ScheduledStageWriter
from tbe_impl.codegen.thread_partial_sums import ROWS_PARAMETER, ThreadRows
from tbe_impl.codegen.thread_partition import BEGIN_AND_END, NEST, OWN
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Expr, Reduce
from tbe_impl.runtime.buffers import MAX_THREADS

TILE_STEPS = 16
"""Iterations of the outer loop in one tile: the number of float32 elements in a cache line."""

MAX_STACKED_STEPS = 8
"""Maximum trip count of a fully split innermost loop that runs inside the vector loop."""

MAX_JAMMED_STEPS = 1 << 14
"""Maximum total number of elements in rows that are jammed together."""

DEFAULT_JAM_FACTOR = 4
"""Default unroll-and-jam factor of short rows and of column reductions.

A loop over a short row has a high start-up cost. A column reduction loads and stores its
accumulator row once for all jammed rows.
"""

STRIP_LENGTH, SHORT_STRIP_LENGTH = 8, 4
"""Numbers of rows in a strip: for rows that share a page, and for longer rows.

Rows that start at equal offsets in several pages compete for the same cache sets.
"""

MIN_STRIPS = 8
"""Minimum number of strips of a loop that threads may share."""

MAX_STRIP_STEPS = 128
"""Maximum row length of the longer strips; eight such rows take one page."""

STREAM = ir.Var("stream", ir.FLAG)
"""Parameter of a nest's function: whether non-temporal stores are used."""

MIN_VECTOR_LOOP_STEPS = 64
"""Minimum trip count of a loop that serves as the vector loop around an innermost loop."""


class NestWriter:
    """Emits one loop nest as C.

    Args:
        number: number of the nest; part of C names.
        nest: the nest.
        around: properties of the program that contains the nest.
        readable: ``id`` of the tensors that are complete before the nest.
    """

    def __init__(self, number: int, nest: LoopNest, around: ProgramContext, readable: set[int]):
        self.number, self.nest, self.around, self.options = number, nest, around, around.options
        self.function = NestFunction(number, nest, around)
        buffers = {key: item for key, item in around.buffers.items() if key in readable}
        targets = {id(root.tensor): around.buffers[id(root.tensor)] for root in nest.roots}
        self.inside = Lowering(
            buffers,
            targets,
            around.names,
            around.options,
            around.kept if nest.exact is None else (),
            around.slow,
            around.sums,
            around.short,
        )
        self.rows: dict[int, TensorBuffer] = {}
        self.grain = 1

    def write(self) -> NestCode:
        """Returns the functions of the nest and the statements that call them."""
        nest, exact = self.nest, self.nest.exact
        if not nest.loops and isinstance(nest.roots[0].tensor.op.body[0], Reduce):
            return self._emit_full_reduction()
        is_private = exact is not None and exact.has_private_sums
        columns = [root for root in nest.roots if root.columns or is_private]
        rows = ThreadRows(self.function, columns, may_be_wide=exact is None)
        self.rows = rows.buffers
        for serial, extent in nest.loops:
            self.inside.declare_loop(serial, extent)
        parted = nest.levels[nest.shared] if nest.levels else Level(())
        if nest.shared:
            # otherwise each thread would recompute a reduction that depends only on loops outside
            # the parallel loop
            self.inside.chain[0].blocks = parted.variables
        stream = None if exact is not None else self._streaming_condition()
        if exact is not None:
            (root,) = nest.roots
            ScheduledStageWriter(
                self.inside, rows, self.around, root, nest.levels, exact, nest.shared
            ).write()
        else:
            with self.inside.bind_sources(
                [(_innermost_expression(root), root.axes) for root in nest.roots]
            ):
                self._loops(0, STREAM if stream is not None else None)
        if stream is not None:
            # orders non-temporal stores before later stores
            fence = ir.Evaluate(ir.call("stream_fence"))
            self.inside.chain[0].body.append(ir.If(STREAM, (fence,)))
        parameters = [*BEGIN_AND_END]
        if exact is None:
            parameters.append(ir.Parameter(STREAM.name, "const int"))
        if not rows.is_empty:
            parameters.append(ROWS_PARAMETER)
        body = restrict_to_thread(self.inside, parted, self.inside.chain[0].body)
        function = self.function.build(parameters, rows.starts(), body)
        steps = parallel_trip_count(self.inside, parted)
        is_flat = exact is None and len(nest.loops) == 1 and not nest.along
        grain = nest.grain or (1024 if is_flat else self.grain)
        given: tuple[ir.Expr, ...] = () if exact is not None else (ir.Int(0), ir.Int(0))
        if stream is not None:
            given = (stream, ir.Field(NEST, STREAM.name, STREAM.kind))
        fields = {} if stream is None else {STREAM.name: stream}
        part, call = rows.call(steps, grain, given[:1], given[1:], fields)
        cells = self._fit_lookup_table() if exact is None else None
        values = self.inside.row_values
        return self.function.code((function, *part), call, cells=cells, row_values=values)

    def _fit_lookup_table(self) -> HalfLookupTable | None:
        """Fits a lookup table for the nest's only result; returns None if that is impossible."""
        (root, *others), options = self.nest.roots, self.options
        asked = options.float16_tables and options.rounding == "accurate" and bool(self.nest.loops)
        if not asked or others or root.columns or self.function.buffer_of(root).dtype != "float16":
            return None
        length = self.nest.loops[-1][1].constant
        if length is not None and length < MIN_TABLE_ELEMENTS:
            return None
        function = unary_function_of(root.tensor, self.inside.buffers)
        return fit_lookup_table(function) if function else None

    # loops and stores

    def _loops(self, at: int, stream: ir.Expr | None) -> None:
        """Emits the loops of the nest from level `at` inwards, and the stores in these loops."""
        nest = self.nest
        if at == len(nest.levels):
            self._store(None)
        elif len(nest.levels) - at == 2 and nest.transposed:
            outer, _ = nest.loops[at]
            if any(True for _ in self._outer_roots(at)):
                # inside a tile, the outer loop becomes the inner one
                self.inside.emit_serial_loop(outer, lambda: self._store_outer(at))
            self._tiles(at)
        elif self._is_stacked(at):
            (outer, _), (inner, _) = nest.loops[at:]
            self.inside.emit_vector_loop(
                outer,
                lambda: self.inside.emit_serial_loop(inner, lambda: self._store(None)),
            )
        elif at < len(nest.levels) - 1 or nest.along:

            def body() -> None:
                self._store_outer(at)
                self._loops(at + 1, stream)

            self._emit_outer_loop(at, body, stream)
        else:
            self._emit_vector_loop(at, stream)

    def _is_stacked(self, at: int) -> bool:
        """Returns whether the second innermost loop is the vector loop.

        The second innermost loop is chosen if the innermost loop is short, and if index-set
        splitting divides the innermost loop into single iterations.
        """
        nest, loops = self.nest, self.nest.loops[at:]
        if len(loops) != 2 or len(nest.levels) != len(nest.loops) or nest.along:
            return False
        if any(level.unroll for level in nest.levels[at:]):
            return False
        (outer, length), (inner, steps) = loops
        short = steps.constant is not None and steps.constant <= MAX_STACKED_STEPS
        long = length.constant is None or length.constant >= MIN_VECTOR_LOOP_STEPS
        if (
            not short
            or not long
            or not all({outer, inner} <= root.variables for root in nest.roots)
        ):
            return False
        pieces = self.inside.pieces(inner)
        return len(pieces) > 1 and all(piece.steps == 1 for piece in pieces)

    def _emit_outer_loop(self, at: int, body: Callable[[], None], stream: ir.Expr | None) -> None:
        """Emits the outer loop at level `at`.

        The loop is sequential, blocked, fused, collapsed, or unrolled and jammed.
        """
        inside, level = self.inside, self.nest.levels[at]
        ((serial, step), *others) = level.parts
        if step > 1 or others:
            emit_level(inside, level, body, shared=at == self.nest.shared)
            return
        for piece in inside.pieces(serial):
            with inside.restrict_to(piece):
                if inside.ranges.known and not self.nest.along and self._can_collapse(at):
                    inner = [item for item, _ in self.nest.loops[at + 1 :]]
                    unroll = self.nest.levels[-1].unroll or self.options.unroll
                    head = self._store_peel_count(inner[-1]) if stream is not None else None
                    inside.emit_collapsed_loop(
                        piece, inner, lambda: self._store(stream), unroll, head
                    )
                else:
                    jam = self._jam_factor(at, piece)
                    strip = 0 if jam or stream is not None else self._strip_length(at, piece)
                    self.grain = max(self.grain, jam, strip)
                    inside.emit_serial_piece(piece, body, level.unroll, jam, strip)

    def _jam_factor(self, at: int, piece: Piece) -> int:
        """Returns the unroll-and-jam factor of a loop around rows; 0 for none.

        Rows are jammed only if the jammed rows together fit into the L1 cache, or if all results
        are column reductions.
        """
        nest = self.nest
        innermost = at == len(nest.levels) - (1 if nest.along else 2)
        least, behind = piece.lower_bound.constant, piece.upper_bound.constant
        if (
            not innermost
            or piece.is_cut
            or nest.levels[at].unroll
            or least is None
            or behind is None
        ):
            return 0
        length = 1 if nest.along else nest.loops[-1][1].constant
        sums = all(root.columns for root in nest.roots)
        steps = self.options.jam_factor or (DEFAULT_JAM_FACTOR if self._can_jam(sums=sums) else 1)
        fits = length is not None and (length * steps <= MAX_JAMMED_STEPS or sums)
        return steps if fits and behind - least >= steps > 1 else 0

    def _strip_length(self, at: int, piece: Piece) -> int:
        """Returns the number of rows in a strip of a loop around rows; 0 for no strips.

        Threads share whole strips, so that sums do not depend on the number of threads.
        """
        nest = self.nest
        is_innermost = at == len(nest.levels) - 2 and not nest.along
        has_sums = any(root.columns for root in nest.roots)
        if not is_innermost or not has_sums or piece.is_cut or nest.levels[at].unroll:
            return 0
        length, rows = nest.loops[-1][1].constant, nest.loops[-2][1].constant
        is_short = length is not None and length <= MAX_STRIP_STEPS
        strip = STRIP_LENGTH if is_short else SHORT_STRIP_LENGTH
        return strip if rows is None or rows >= MIN_STRIPS * strip else 0

    def _can_jam(self, *, sums: bool) -> bool:
        """Returns whether all rows can be jammed (computed several at once).

        The loops over the rows must need no index-set splitting. The rows must also be short,
        unless `sums` is true. `sums` states whether all results are column reductions.
        """
        asked = self.inside.accesses()
        is_one = not asked.conditions and not asked.divided
        return is_one and (sums or has_short_rows(self.nest, self.inside.buffers))

    def _emit_vector_loop(self, at: int, stream: ir.Expr | None) -> None:
        nest, inside = self.nest, self.inside
        ((serial, _),) = nest.levels[at].parts
        self._hoist_reductions(frozenset({serial}))
        inside.emit_vector_loop(
            serial,
            lambda: self._store(stream),
            unroll=nest.levels[at].unroll or self.options.unroll,
            head=self._store_peel_count(serial) if stream is not None else None,
        )

    def _can_collapse(self, at: int) -> bool:
        """Returns whether the loops from level `at` inwards can be collapsed into one loop."""
        inner = [serial for level in self.nest.levels[at + 1 :] for serial, _ in level.parts]
        restricted = self.nest.levels[self.nest.shared].variables | self.inside.block_steps.keys()
        if len(self.nest.levels) > len(self.nest.loops) or restricted & set(inner):
            return False
        found = self.inside.accesses()
        for root in self.nest.roots:
            place = self.rows.get(id(root.tensor)) or self.function.buffer_of(root)
            found.addresses.append((root.tensor, self.inside.address(place, root.indices)))
        return len(merge_axes(self.nest.loops[at:], found)) == 1

    def _tiles(self, at: int) -> None:
        """Tiles the two innermost loops of a transpose, so that cache lines are used completely."""
        inside, outer = self.inside, self.nest.loops[at][0]
        inner, name = self.nest.loops[at + 1][0], self.inside.names[outer]
        end = inside.index_expr(inside.extents[outer])
        parent, parent_body = inside.chain[-1], inside.chain[-1].body
        self._hoist_reductions(frozenset({outer, inner}))
        loop = ir.For(f"{name}_tile", ir.ZERO, end, (), ir.Int(TILE_STEPS), over=name)
        parent.body = []
        inside.emit_vector_loop(
            inner, lambda: inside.emit_serial_loop(outer, lambda: self._store(None))
        )
        tile, parent.body = tuple(parent.body), parent_body
        parent.body.append(replace(loop, body=tile))

    def _hoist_reductions(self, below: frozenset[int]) -> None:
        """Emits reductions before the loops `below` that use them, where this is possible."""
        for root in self.nest.roots:
            if root.columns or below & root.variables:
                self.inside.hoist_reductions(_innermost_expression(root), root.axes, below)

    def _store_outer(self, at: int) -> None:
        """Stores the tensors that depend on level `at` but on no deeper level."""
        for root in self._outer_roots(at):
            self._store_root(root, None)

    def _outer_roots(self, at: int) -> Iterator[Root]:
        """Yields the tensors that depend on level `at` but on no deeper level.

        Yields nothing for the last level.
        """
        levels = self.nest.levels
        if at + 1 == len(levels):
            return
        known = frozenset().union(*(level.final_variables for level in levels[: at + 1]))
        loops = {serial for serial, _ in self.nest.loops}
        for root in self.nest.roots:
            used = root.variables & loops
            if not root.columns and used <= known and levels[at].final_variables & used:
                yield root

    def _store(self, stream: ir.Expr | None) -> None:
        """Stores the tensors that the innermost loop computes."""
        last = self.nest.levels[-1].variables if self.nest.levels else frozenset()
        for root in self.nest.roots:
            if not last or last & root.variables:
                self._store_root(root, stream)

    def _store_root(self, root: Root, stream: ir.Expr | None) -> None:
        if root.columns:
            accumulate(self.inside, root.tensor, root.axes, self.rows[id(root.tensor)])
            return
        value = self.inside.compute_stored_element(root.tensor, root.indices)
        self.inside.store(root.tensor, root.indices, value, stream=stream)

    def _streaming_condition(self) -> ir.Expr | None:
        """Returns the condition under which the nest uses non-temporal stores.

        The condition holds if the outputs are large and the rows of the outputs are aligned.
        Returns None if the condition never holds. The condition uses the parameters ``b`` and ``s``
        of the program's function.
        """
        nest = self.nest
        if nest.along or nest.transposed or not nest.loops:
            return None
        wide = self._innermost_roots()
        sizes = {dtype_of(self.function.buffer_of(root).dtype).bytes for root in wide}
        if not wide or (len(nest.loops) == 1 and len(sizes) > 1):
            return None
        line = ir.Int(CACHE_LINE_BYTES)

        def remainder(root: Root, divisor: ir.Expr) -> ir.Expr:
            number = self.function.buffer_of(root).number
            address = ir.Cast(ir.ADDRESS, ir.Element("b", (ir.Int(number),)))
            return ir.op("mod", address, divisor, kind=ir.ADDRESS)

        def is_equal(one: ir.Expr, other: ir.Expr) -> ir.Expr:
            return ir.op("eq", one, other, kind=ir.FLAG)

        terms: list[ir.Expr] = []
        for root in wide:
            size = dtype_of(self.function.buffer_of(root).dtype).bytes
            total = element_count(root.tensor)
            row = nest.loops[-1][1].constant if len(nest.loops) > 1 else None
            if total.constant is not None and total.constant * size < self.options.stream_bytes:
                return None
            if row is not None and row * size % CACHE_LINE_BYTES:
                return None
            stored = ir.op("mul", self.function.size(total), ir.Int(size))
            least = ir.Int(self.options.stream_bytes)
            terms.append(ir.op("ge", stored, least, kind=ir.FLAG))
            if len(nest.loops) > 1:
                length = ir.op("mul", self.function.size(nest.loops[-1][1]), ir.Int(size))
                terms.append(is_equal(ir.op("mod", length, line), ir.Int(0)))
            if len(sizes) > 1:
                terms.append(is_equal(remainder(root, line), ir.Int(0)))
            else:
                terms.append(is_equal(remainder(root, line), remainder(wide[-1], line)))
                terms.append(is_equal(remainder(root, ir.Int(size)), ir.Int(0)))
        return ir.every(terms)

    def _innermost_roots(self) -> list[Root]:
        """Returns the roots (stored tensors) that the innermost loop stores to memory."""
        last = self.nest.loops[-1][0]
        return [root for root in self.nest.roots if not root.columns and last in root.variables]

    def _store_peel_count(self, serial: int) -> ir.Expr:
        """Returns how many steps to peel so that non-temporal stores are aligned.

        The number is the same for every row of the array. Stores are aligned to a vector, or to a
        cache line if a vector is longer. Outputs of different dtypes have no common alignment that
        is greater.
        """
        buffer = self.function.buffer_of(self._innermost_roots()[-1])
        size = dtype_of(buffer.dtype).bytes
        place = ir.Cast(ir.ADDRESS, buffer.pointer(ir.Var(self.inside.names[serial])))
        vector = ir.op("mul", ir.LANES, ir.Int(size))
        aligned = ir.call("least", vector, ir.Int(CACHE_LINE_BYTES))
        before = ir.op("sub", ir.Int(0), place, kind=ir.ADDRESS)
        behind = ir.op("mod", before, aligned, kind=ir.ADDRESS)
        steps = ir.op("div", ir.Cast(ir.INDEX, behind), ir.Int(size))
        return ir.op("choose", STREAM, steps, ir.Int(0))

    # partial results of threads

    def _emit_full_reduction(self) -> NestCode:
        """Emits a full reduction: one partial result for each thread, then their combination."""
        (root,), number = self.nest.roots, self.number
        body = reduce_of(root.tensor)
        value, steps, grain = lower_partial_reduction(self.inside, root.tensor, root.axes)
        tag = vectors.tag_of(root.tensor.dtype)
        buffer, c = self.function.buffer_of(root), c_type(tag)
        result = ir.Element("part_result", (), tag)
        self.inside.chain[0].body.append(ir.Assign(result, value.expr))
        parameters = (*BEGIN_AND_END, ir.Parameter("part_result", f"{c} *"))
        function = self.function.build(parameters, (), self.inside.chain[0].body)
        parts, count = ir.Var(f"parts{number}", "pointer"), ir.Var(f"count{number}", ir.INT)
        t = ir.Var("t", ir.INT)
        total, own = (ir.Element(parts.name, (one,), tag) for one in (ir.Int(0), t))
        merge = ir.Assign(total, vectors.combine(body.op, tag, total, own))
        pointer = ir.Cast(
            f"{dtype_of(buffer.dtype).c} *", ir.Element("b", (ir.Int(buffer.number),))
        )
        store = ir.Store(vectors.memory_prefix(buffer.dtype), pointer, total, ir.ZERO)
        fields = {
            "own": ir.Cast("char *", parts),
            "own_bytes": ir.call("sizeof", ir.Element(parts.name, (), tag)),
        }
        part, call = self.function.parallel_call(
            steps,
            grain,
            (ir.AddressOf(total),),
            (ir.Cast(f"{c} *", OWN),),
            fields,
            count,
        )
        calls = (
            ir.Alloc(parts.name, tag, (ir.Int(MAX_THREADS),)),
            ir.Let(count.name, ir.INT, ir.Int(1), is_mutable=True),
            call,
            ir.For(t.name, ir.Int(1), count, (merge,), kind=ir.INT),
            store,
        )
        values = self.inside.row_values
        return self.function.code((function, *part), ir.Block(calls), row_values=values)


def _innermost_expression(root: Root) -> Expr:
    """Returns the expression that the innermost loop computes for the stored tensor `root`."""
    body = root.tensor.op.body[root.tensor.value_index]
    return body.source if root.columns and isinstance(body, Reduce) else body
