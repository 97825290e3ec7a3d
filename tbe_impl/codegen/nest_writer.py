"""Emits one loop nest as C: its function, its parallel loop, and the merge of partial results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_headers import (
    emit_block_loop,
    emit_fused_loop,
    emit_serial_steps,
    emit_unroll_and_jam,
    parallel_trip_count,
    range_of,
)
from tbe_impl.codegen.loop_levels import LoopScope, TensorBuffer, Tile
from tbe_impl.codegen.lowering import Lowering
from tbe_impl.codegen.nest_function import NestFunction, ProgramContext
from tbe_impl.codegen.passes.half_precision_tables import HalfLookupTable, fit_lookup_table
from tbe_impl.codegen.passes.short_rows import has_short_rows
from tbe_impl.codegen.passes.software_pipelining import LONGEST_ROW, pipeline_rows
from tbe_impl.codegen.passes.table_loops import MIN_TABLE_ELEMENTS
from tbe_impl.codegen.passes.unary_half_functions import unary_function_of
from tbe_impl.codegen.planning.access_analysis import element_count, merge_axes
from tbe_impl.codegen.planning.index_ranges import Piece
from tbe_impl.codegen.planning.loop_orders import Level
from tbe_impl.codegen.planning.partition import LoopNest, Root
from tbe_impl.codegen.reductions import accumulate, combine, lower_partial_reduction
from tbe_impl.codegen.thread_partial_sums import ThreadRows
from tbe_impl.codegen.thread_partition import join_functions
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Expr, Reduce
from tbe_impl.runtime.buffers import MAX_THREADS

MAX_PREFETCH_STEPS = 1 << 13
"""Maximum row length for which the next row is prefetched while the current one is written."""

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

MIN_VECTOR_LOOP_STEPS = 64
"""Minimum trip count of a loop that serves as the vector loop around an innermost loop."""


class NestWriter:
    """Emits one loop nest as C.

    Args:
        number: number of the nest; part of C names.
        nest: the nest.
        around: properties of the program.
        readable: ``id`` of the tensors that are complete before the nest.
    """

    def __init__(self, number: int, nest: LoopNest, around: ProgramContext, readable: set[int]):
        self.number, self.nest, self.options = number, nest, around.options
        self.function = NestFunction(number, nest, around)
        buffers = {key: item for key, item in around.buffers.items() if key in readable}
        targets = {id(root.tensor): around.buffers[id(root.tensor)] for root in nest.roots}
        self.inside = Lowering(
            buffers,
            targets,
            around.names,
            around.options,
            around.kept,
            around.slow,
            around.sums,
            around.short,
        )
        self.rows: dict[int, TensorBuffer] = {}
        self.grain = 1

    def write(self) -> tuple[str, str]:
        """Returns the C functions of the nest and the statements that call them."""
        nest = self.nest
        if not nest.loops and isinstance(nest.roots[0].tensor.op.body[0], Reduce):
            return self._emit_full_reduction()
        columns = [root for root in nest.roots if root.columns]
        rows = ThreadRows(self.function, columns, may_be_wide=True)
        self.rows = rows.buffers
        for serial, extent in nest.loops:
            self.inside.declare_loop(serial, extent)
        parted = nest.levels[nest.shared] if nest.levels else Level(())
        if nest.shared:
            # otherwise each thread would recompute a reduction that depends only on loops outside
            # the parallel loop
            self.inside.chain[0].blocks = parted.variables
        if len(parted.parts) == 1:
            self.inside.parts[parted.parts[0][0]] = ("begin", "end")
        stream = self._streaming_condition()
        self.inside.half_cells = self._fit_lookup_table()
        with self.inside.bind_sources(
            [(_innermost_expression(root), root.axes) for root in nest.roots]
        ):
            self._loops(0, stream)
        if stream:
            self.inside.chain[0].lines.append("if (stream) stream_fence();")
        extra = ", char *rows" if columns else ""
        text = self.function.text(
            f"int64_t begin, int64_t end, const int stream{extra}",
            rows.starts(),
            self.inside.chain[0].lines,
        )
        steps = parallel_trip_count(self.inside, parted)
        grain = nest.grain or (1024 if len(nest.loops) == 1 and not nest.along else self.grain)
        name, stream_argument = self.function.name, "nest->stream" if stream else "0"
        extra_fields = f".stream = {stream}" if stream else ""
        if columns:
            part, call = rows.call(steps, grain, stream or "0", stream_argument, extra_fields)
            return join_functions(text, part, rows.merge_function_text()), call
        sequential_call = f"{name}(b, s, INT64_C(0), {steps}, {stream or '0'});"
        part, call = self.function.emit_parallel_call(
            steps, grain, sequential_call, arguments=stream_argument, extra_fields=extra_fields
        )
        return join_functions(text, part), call

    def _fit_lookup_table(self) -> HalfLookupTable | None:
        """Fits a lookup table for the nest's only result; returns None if that is impossible."""
        (root, *others), options = self.nest.roots, self.options
        asked = options.half_cells and options.rounding == "accurate" and bool(self.nest.loops)
        if not asked or others or root.columns or self.function.buffer_of(root).dtype != "float16":
            return None
        length = self.nest.loops[-1][1].constant
        if length is not None and length < MIN_TABLE_ELEMENTS:
            return None
        function = unary_function_of(root.tensor, self.inside.buffers)
        return fit_lookup_table(function) if function else None

    # loops and stores

    def _loops(self, at: int, stream: str) -> None:
        """Emits the loops from level `at` on, including the stores."""
        nest = self.nest
        if at == len(nest.levels):
            self._store("")
        elif len(nest.levels) - at == 2 and nest.transposed:
            outer, extent = nest.loops[at]
            begin, end = range_of(self.inside, outer)
            if any(True for _ in self._outer_roots(at)):
                # inside a tile, the outer loop becomes the inner one
                self.inside.emit_serial_loop(
                    outer,
                    lambda: self._store_outer(at),
                    begin=begin,
                    end=end or self.function.size(extent),
                )
            self._tiles(at, begin, end or self.function.size(extent), stream)
        elif self._is_stacked(at):
            (outer, _), (inner, _) = nest.loops[at:]
            begin, end = range_of(self.inside, outer)
            self.inside.emit_vector_loop(
                outer,
                lambda _: self.inside.emit_serial_loop(inner, lambda: self._store("")),
                begin=begin,
                end=end,
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

        This is so if the innermost loop is short and index-set splitting splits the innermost loop
        into single iterations.
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

    def _emit_outer_loop(self, at: int, body: Callable[[], None], stream: str) -> None:
        """Emits an outer loop: sequential, blocked, fused, collapsed, or unrolled and jammed."""
        inside, level = self.inside, self.nest.levels[at]
        if len(level.parts) > 1:
            emit_fused_loop(inside, level, body, shared=at == self.nest.shared)
            return
        ((serial, step),) = level.parts
        if step > 1:
            emit_block_loop(inside, level, body)
            return
        for piece in inside.pieces(serial, *range_of(self.inside, serial)):
            with inside.restrict_to(piece):
                if inside.ranges.known and not self.nest.along and self._can_collapse(at):
                    inner = [item for item, _ in self.nest.loops[at + 1 :]]
                    unroll = self.nest.levels[-1].unroll or self.options.unroll
                    head = self._store_peel_count(inner[-1]) if stream else ""
                    inside.emit_collapsed_loop(
                        piece,
                        inner,
                        lambda _: self._store("stream" if stream else ""),
                        unroll,
                        head,
                    )
                elif (steps := self._jam_factor(at, piece)) > 1:
                    self.grain = steps
                    emit_unroll_and_jam(inside, piece, steps, body)
                else:
                    scope = emit_serial_steps(inside, piece, level, body)
                    if stream and scope.is_sequential and not level.unroll:
                        self._pipeline_rows(at, piece, scope)

    def _pipeline_rows(self, at: int, piece: Piece, scope: LoopScope) -> None:
        """Adds a second, software-pipelined version of the loops over a row, if there is one.

        The C macro ``STAGGERS`` selects this version.
        """
        length, lines = self.nest.loops[-1][1].constant, self.inside.chain[-1].lines
        if at != len(self.nest.levels) - 2 or length is None or length > LONGEST_ROW:
            return
        if not self.options.stagger:
            return
        name, place = (
            self.inside.names[piece.serial],
            self.function.buffer_of(self._innermost_roots()[-1]).name,
        )
        kept = list(scope.rows.values())
        found = pipeline_rows(scope.lines, name, piece.begin, piece.end, kept, place)
        if found:
            lines[-3:] = ["#if STAGGERS", *found, "#else", *lines[-3:], "#endif"]

    def _jam_factor(self, at: int, piece: Piece) -> int:
        """Returns the unroll-and-jam factor of a loop around rows; 1 for none.

        Rows are jammed only if together they fit into the L1 cache, or if all results are column
        reductions.
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
            return 1
        length = 1 if nest.along else nest.loops[-1][1].constant
        sums = all(root.columns for root in nest.roots)
        steps = self.options.together or (DEFAULT_JAM_FACTOR if self._can_jam(sums=sums) else 1)
        fits = length is not None and (length * steps <= MAX_JAMMED_STEPS or sums)
        return steps if fits and behind - least >= steps else 1

    def _can_jam(self, *, sums: bool) -> bool:
        """Returns whether all rows can be jammed (computed several at once).

        The loops over the rows must need no index-set splitting. The rows must be short, unless all
        results are column reductions (`sums`).
        """
        asked = self.inside.accesses()
        is_one = not asked.conditions and not asked.divided
        return is_one and (sums or has_short_rows(self.nest, self.inside.buffers))

    def _emit_vector_loop(self, at: int, stream: str) -> None:
        nest, inside = self.nest, self.inside
        ((serial, _),) = nest.levels[at].parts
        begin, end = range_of(self.inside, serial)
        self._hoist_reductions(frozenset({serial}))
        length = nest.loops[-1][1].constant
        short = length is None or length <= MAX_PREFETCH_STEPS
        outer = nest.levels[at - 1].parts if at else ()
        if len(outer) == 1 and outer[0][1] == 1 and short and self.options.prefetch:
            inside.prefetch = outer[0][0]
        elif len(nest.loops) == 1 and stream and self.options.prefetch:
            inside.prefetch = serial
        inside.emit_vector_loop(
            serial,
            lambda _: self._store("stream" if stream else ""),
            head=self._store_peel_count(serial) if stream else "",
            unroll=nest.levels[at].unroll or self.options.unroll,
            begin=begin,
            end=end,
        )

    def _can_collapse(self, at: int) -> bool:
        """Returns whether the loops from level `at` on can collapse into one loop."""
        inner = [serial for level in self.nest.levels[at + 1 :] for serial, _ in level.parts]
        if len(self.nest.levels) > len(self.nest.loops) or self.inside.parts.keys() & set(inner):
            return False
        found = self.inside.accesses()
        for root in self.nest.roots:
            place = self.rows.get(id(root.tensor)) or self.function.buffer_of(root)
            found.addresses.append((root.tensor, self.inside.address(place, root.indices)))
        return len(merge_axes(self.nest.loops[at:], found)) == 1

    def _tiles(self, at: int, begin: str, end: str, stream: str) -> None:
        """Tiles the two innermost loops of a transpose, so that cache lines are used completely."""
        inside, outer = self.inside, self.nest.loops[at][0]
        inner, name = self.nest.loops[at + 1][0], self.inside.names[outer]
        lines: list[object] = []
        parent, parent_lines = inside.chain[-1], inside.chain[-1].lines
        self._hoist_reductions(frozenset({outer, inner}))
        parent.lines = lines
        first, count = f"{name}_tile", f"{name}_steps"
        inside.tile = Tile(outer, first, count, TILE_STEPS)
        inside.emit_vector_loop(
            inner,
            lambda _: inside.emit_serial_loop(
                outer, lambda: self._store(""), begin=first, end=f"{first} + {count}"
            ),
        )
        inside.tile = None
        parent.lines = parent_lines
        lines.insert(
            0,
            (
                f"const int64_t {count} = {first} + {TILE_STEPS} < {end} "
                f"? {TILE_STEPS} : {end} - {first};"
            ),
        )
        head = f"for (int64_t {first} = {begin}; {first} < {end}; {first} += {TILE_STEPS}) {{"
        parent.lines += [head, lines, "}"]

    def _hoist_reductions(self, below: frozenset[int]) -> None:
        """Emits reductions used in the loops `below` before these loops, where possible."""
        for root in self.nest.roots:
            if root.columns or below & root.variables:
                for _ in self.inside.jammed_steps():
                    axes = {
                        serial: self.inside.shift_index(index)
                        for serial, index in root.axes.items()
                    }
                    self.inside.hoist_reductions(_innermost_expression(root), axes, below)

    def _store_outer(self, at: int) -> None:
        """Stores the tensors that `_outer_roots` yields for level `at`."""
        for root in self._outer_roots(at):
            self._store_root(root, "")

    def _outer_roots(self, at: int) -> Iterator[Root]:
        """Yields the tensors that depend on level `at` but on no deeper level.

        Yields none for the last level.
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

    def _store(self, stream: str) -> None:
        """Stores the tensors that the innermost loop computes."""
        last = self.nest.levels[-1].variables if self.nest.levels else frozenset()
        for root in self.nest.roots:
            if not last or last & root.variables:
                self._store_root(root, stream)

    def _store_root(self, root: Root, stream: str) -> None:
        if root.columns:
            accumulate(self.inside, root.tensor, root.axes, self.rows[id(root.tensor)])
            return
        for _ in self.inside.jammed_steps():
            indices = tuple(map(self.inside.shift_index, root.indices))
            value = self.inside.compute_stored_element(root.tensor, indices)
            self.inside.store(root.tensor, indices, value, stream=stream)

    def _streaming_condition(self) -> str:
        """Returns the C condition under which the nest uses non-temporal stores.

        It holds if the outputs are large and their rows are aligned. Returns "" if it never holds.
        """
        nest = self.nest
        if nest.along or nest.transposed or not nest.loops:
            return ""
        wide = self._innermost_roots()
        sizes = {dtype_of(self.function.buffer_of(root).dtype).bytes for root in wide}
        if not wide or (len(nest.loops) == 1 and len(sizes) > 1):
            return ""
        last = self.function.buffer_of(wide[-1]).name[1:]
        terms = []
        for root in wide:
            size, index = (
                dtype_of(self.function.buffer_of(root).dtype).bytes,
                self.function.buffer_of(root).name[1:],
            )
            total = element_count(root.tensor)
            if total.constant is not None and total.constant * size < self.options.stream_bytes:
                return ""
            terms.append(f"({self.function.size(total)})*{size} >= {self.options.stream_bytes}")
            if len(nest.loops) > 1:
                terms.append(f"(({self.function.size(nest.loops[-1][1])})*{size}) % 64 == 0")
            if len(sizes) > 1:
                terms.append(f"(uintptr_t)b[{index}] % 64 == 0")
            else:
                terms.append(
                    f"(uintptr_t)b[{index}] % 64 == (uintptr_t)b[{last}] % 64 "
                    f"&& (uintptr_t)b[{index}] % {size} == 0"
                )
        return " && ".join(terms)

    def _innermost_roots(self) -> list[Root]:
        """Returns the roots that the innermost loop stores to memory."""
        last = self.nest.loops[-1][0]
        return [root for root in self.nest.roots if not root.columns and last in root.variables]

    def _store_peel_count(self, serial: int) -> str:
        """Returns, as C text, how many steps to peel so that non-temporal stores are aligned.

        The number is the same for every row of the array. Stores are aligned to a vector, or to a
        cache line if a vector is longer: outputs of different dtypes have no greater alignment in
        common.
        """
        buffer = self.function.buffer_of(self._innermost_roots()[-1])
        size = dtype_of(buffer.dtype).bytes
        place = f"(uintptr_t)({buffer.name} + {self.inside.names[serial]})"
        return f"stream ? (int64_t)((0 - {place}) % least(LANES*{size}, 64)) / {size} : 0"

    # partial results of threads

    def _emit_full_reduction(self) -> tuple[str, str]:
        """Emits a full reduction: one partial result for each thread, then their combination."""
        (root,), number = self.nest.roots, self.number
        body = root.tensor.op.body[root.tensor.value_index]
        assert isinstance(body, Reduce)
        value, steps, grain = lower_partial_reduction(self.inside, root.tensor, root.axes)
        tag = vectors.tag_of(root.tensor.dtype)
        c, prefix = vectors.c_type(tag), vectors.memory_prefix(self.function.buffer_of(root).dtype)
        self.inside.chain[0].lines.append(f"*part_result = {value.text};")
        text = self.function.text(
            f"int64_t begin, int64_t end, {c} *part_result", (), self.inside.chain[0].lines
        )
        parts = f"{c} parts{number}[{MAX_THREADS}]; int count{number} = 1;"
        sequential_call = f"{self.function.name}(b, s, INT64_C(0), {steps}, &parts{number}[0]);"
        extra_fields = f".own = (char *)parts{number}, .own_bytes = sizeof *parts{number}"
        both = combine(body.op, tag, f"parts{number}[0]", f"parts{number}[t]")
        place = (
            f"({dtype_of(self.function.buffer_of(root).dtype).c} *)"
            f"b[{self.function.buffer_of(root).name[1:]}]"
        )
        last = [
            f"for (int t = 1; t < count{number}; t++) parts{number}[0] = {both};",
            f"{prefix}_store_part({place}, parts{number}[0], 1);",
        ]
        part, call = self.function.emit_parallel_call(
            steps,
            grain,
            sequential_call,
            arguments=f"({c} *)own",
            extra_fields=extra_fields,
            part_count_variable=f"count{number}",
        )
        return join_functions(text, part), "\n  ".join(["{", parts, call, *last, "}"])


def _innermost_expression(root: Root) -> Expr:
    """Returns the expression that the innermost loop computes for a stored tensor (`root`)."""
    body = root.tensor.op.body[root.tensor.value_index]
    return body.source if root.columns and isinstance(body, Reduce) else body
