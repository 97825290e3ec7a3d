"""Emits one loop nest as C: its function, its parallel loop, and the merge of partial results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.axis_merging import elements_of, merged
from tbe_impl.codegen.half_precision_tables import HalfCells, half_cells
from tbe_impl.codegen.index_ranges import Piece
from tbe_impl.codegen.loop_headers import (
    block_loop,
    fused_loop,
    parted_steps,
    range_of,
    serial_steps,
    steps_at_once,
)
from tbe_impl.codegen.loop_levels import Buffer, Scope, Tile
from tbe_impl.codegen.loop_orders import Level
from tbe_impl.codegen.lowering import Elaborator
from tbe_impl.codegen.nest_function import NestFunction, Surroundings
from tbe_impl.codegen.partition import Nest, Root
from tbe_impl.codegen.reductions import accumulate, combine, part_of_reduction
from tbe_impl.codegen.short_rows import has_short_rows
from tbe_impl.codegen.software_pipelining import LONGEST_ROW, staggered
from tbe_impl.codegen.table_loops import FEWEST
from tbe_impl.codegen.thread_partial_sums import ThreadRows
from tbe_impl.codegen.thread_partition import joined
from tbe_impl.codegen.unary_half_functions import function_of
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Expr, Reduce
from tbe_impl.runtime.buffers import MAX_THREADS

PREFETCH_STEPS = 1 << 13
"""Length of a row up to which the next one is fetched while this one is written."""

TILE = 16
"""Steps of the outer loop of a tile: elements in a cache line."""

STACKED_STEPS = 8
"""Steps of the last loop up to which it runs inside the vector loop when each of its steps does something else."""

TOGETHER_STEPS = 1 << 14
"""Steps of several rows up to which they are computed at once."""

FEW_TOGETHER = 4
"""How many rows are computed at once unasked: short ones, since a loop over one ends soon, and those that are only added, since what they are
added to is loaded and stored once then."""

MANY_STEPS = 64
"""Steps of a loop from which on it is worth being the vector loop."""


class NestWriter:
    """Writes one nest.

    Args:
        number: of the nest, for names.
        nest: what it computes.
        around: what it finds.
        readable: ``id`` of the tensors that are complete.
    """

    def __init__(self, number: int, nest: Nest, around: Surroundings, readable: set[int]):
        self.number, self.nest, self.options = number, nest, around.options
        self.function = NestFunction(number, nest, around)
        buffers = {key: item for key, item in around.buffers.items() if key in readable}
        targets = {id(root.tensor): around.buffers[id(root.tensor)] for root in nest.roots}
        self.inside = Elaborator(
            buffers,
            targets,
            around.names,
            around.options,
            around.kept,
            around.slow,
            around.sums,
            around.short,
        )
        self.rows: dict[int, Buffer] = {}
        self.grain = 1

    def write(self) -> tuple[str, str]:
        """The functions, and the statements that call them."""
        nest = self.nest
        if not nest.loops and isinstance(nest.roots[0].tensor.op.body[0], Reduce):
            return self._full_reduction()
        columns = [root for root in nest.roots if root.columns]
        rows = ThreadRows(self.function, columns, may_be_wide=True)
        self.rows = rows.buffers
        for serial, extent in nest.loops:
            self.inside.loop_variable(serial, extent)
        parted = nest.levels[nest.shared] if nest.levels else Level(())
        if nest.shared:
            # a reduction in the loops outside would be computed by every thread
            self.inside.chain[0].blocks = parted.variables
        if len(parted.parts) == 1:
            self.inside.parts[parted.parts[0][0]] = ("begin", "end")
        stream = self._streams()
        self.inside.half_cells = self._half_cells()
        with self.inside.computing([(_computed(root), root.axes) for root in nest.roots]):
            self._loops(0, stream)
        if stream:
            self.inside.chain[0].lines.append("if (stream) stream_fence();")
        extra = ", char *rows" if columns else ""
        text = self.function.text(
            f"int64_t begin, int64_t end, const int stream{extra}",
            rows.starts(),
            self.inside.chain[0].lines,
        )
        steps = parted_steps(self.inside, parted)
        grain = nest.grain or (1024 if len(nest.loops) == 1 and not nest.along else self.grain)
        name, told = self.function.name, "nest->stream" if stream else "0"
        given = f".stream = {stream}" if stream else ""
        if columns:
            part, call = rows.call(steps, grain, stream or "0", told, given)
            return joined(text, part, rows.together()), call
        alone = f"{name}(b, s, INT64_C(0), {steps}, {stream or '0'});"
        part, call = self.function.shared(steps, grain, alone, arguments=told, given=given)
        return joined(text, part), call

    def _half_cells(self) -> HalfCells | None:
        """The table of the only result, if there may be one."""
        (root, *others), options = self.nest.roots, self.options
        asked = options.half_cells and options.rounding == "accurate" and bool(self.nest.loops)
        if not asked or others or root.columns or self.function.place(root).dtype != "float16":
            return None
        length = self.nest.loops[-1][1].constant
        if length is not None and length < FEWEST:
            return None
        function = function_of(root.tensor, self.inside.buffers)
        return half_cells(function) if function else None

    # inside

    def _loops(self, at: int, stream: str) -> None:
        """Writes the loops from a level on, and in the innermost what is stored."""
        nest = self.nest
        if at == len(nest.levels):
            self._store("")
        elif len(nest.levels) - at == 2 and nest.transposed:
            outer, extent = nest.loops[at]
            begin, end = range_of(self.inside, outer)
            if any(True for _ in self._outer_roots(at)):
                # inside of a tile its outer loop is the inner one
                self.inside.serial_loop(
                    outer,
                    lambda: self._store_outer(at),
                    begin=begin,
                    end=end or self.function.size(extent),
                )
            self._tiles(at, begin, end or self.function.size(extent), stream)
        elif self._is_stacked(at):
            (outer, _), (inner, _) = nest.loops[at:]
            begin, end = range_of(self.inside, outer)
            self.inside.vector_loop(
                outer,
                lambda _: self.inside.serial_loop(inner, lambda: self._store("")),
                begin=begin,
                end=end,
            )
        elif at < len(nest.levels) - 1 or nest.along:

            def body() -> None:
                self._store_outer(at)
                self._loops(at + 1, stream)

            self._outer_loop(at, body, stream)
        else:
            self._vector_loop(at, stream)

    def _is_stacked(self, at: int) -> bool:
        """Whether the last loop takes each step by itself, a few of them: then the loop around it is the vector loop."""
        nest, loops = self.nest, self.nest.loops[at:]
        if len(loops) != 2 or len(nest.levels) != len(nest.loops) or nest.along:
            return False
        if any(level.unroll for level in nest.levels[at:]):
            return False
        (outer, length), (inner, steps) = loops
        short = steps.constant is not None and steps.constant <= STACKED_STEPS
        long = length.constant is None or length.constant >= MANY_STEPS
        if (
            not short
            or not long
            or not all({outer, inner} <= root.variables for root in nest.roots)
        ):
            return False
        pieces = self.inside.pieces(inner)
        return len(pieces) > 1 and all(piece.steps == 1 for piece in pieces)

    def _outer_loop(self, at: int, body: Callable[[], None], stream: str) -> None:
        """One step after the other, of an index or of its blocks; of several where they are fused."""
        inside, level = self.inside, self.nest.levels[at]
        if len(level.parts) > 1:
            fused_loop(inside, level, body, shared=at == self.nest.shared)
            return
        ((serial, step),) = level.parts
        if step > 1:
            block_loop(inside, level, body)
            return
        for piece in inside.pieces(serial, *range_of(self.inside, serial)):
            with inside.within(piece):
                if inside.ranges.known and not self.nest.along and self._joins(at):
                    inner = [item for item, _ in self.nest.loops[at + 1 :]]
                    unroll = self.nest.levels[-1].unroll or self.options.unroll
                    head = self._head(inner[-1]) if stream else ""
                    inside.joined_loop(
                        piece,
                        inner,
                        lambda _: self._store("stream" if stream else ""),
                        unroll,
                        head,
                    )
                elif (steps := self._at_once(at, piece)) > 1:
                    self.grain = steps
                    steps_at_once(inside, piece, steps, body)
                else:
                    scope = serial_steps(inside, piece, level, body)
                    if stream and scope.in_turn and not level.unroll:
                        self._stagger(at, piece, scope)

    def _stagger(self, at: int, piece: Piece, scope: Scope) -> None:
        """Takes the loops over a row together where several follow one another, on processors with registers for them."""
        length, lines = self.nest.loops[-1][1].constant, self.inside.chain[-1].lines
        if at != len(self.nest.levels) - 2 or length is None or length > LONGEST_ROW:
            return
        if not self.options.stagger:
            return
        name, place = self.inside.names[piece.serial], self.function.place(self._wide()[-1]).name
        kept = list(scope.rows.values())
        found = staggered(scope.lines, name, piece.begin, piece.end, kept, place)
        if found:
            lines[-3:] = ["#if STAGGERS", *found, "#else", *lines[-3:], "#endif"]

    def _at_once(self, at: int, piece: Piece) -> int:
        """How many steps a loop takes at once: several the one around loops over rows that the nearest cache holds, or are summed up."""
        nest = self.nest
        innermost = at == len(nest.levels) - (1 if nest.along else 2)
        least, behind = piece.least.constant, piece.behind.constant
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
        steps = self.options.together or (FEW_TOGETHER if self._is_alike(sums=sums) else 1)
        fits = length is not None and (length * steps <= TOGETHER_STEPS or sums)
        return steps if fits and behind - least >= steps else 1

    def _is_alike(self, *, sums: bool) -> bool:
        """Whether rows are sums or have few elements, and all of a row are computed alike: its pieces may be others in the next row."""
        asked = self.inside.accesses()
        is_one = not asked.conditions and not asked.divided
        return is_one and (sums or has_short_rows(self.nest, self.inside.buffers))

    def _vector_loop(self, at: int, stream: str) -> None:
        nest, inside = self.nest, self.inside
        ((serial, _),) = nest.levels[at].parts
        begin, end = range_of(self.inside, serial)
        self._settle(frozenset({serial}))
        length = nest.loops[-1][1].constant
        short = length is None or length <= PREFETCH_STEPS
        outer = nest.levels[at - 1].parts if at else ()
        if len(outer) == 1 and outer[0][1] == 1 and short and self.options.prefetch:
            inside.prefetch = outer[0][0]
        elif len(nest.loops) == 1 and stream and self.options.prefetch:
            inside.prefetch = serial
        inside.vector_loop(
            serial,
            lambda _: self._store("stream" if stream else ""),
            head=self._head(serial) if stream else "",
            unroll=nest.levels[at].unroll or self.options.unroll,
            begin=begin,
            end=end,
        )

    def _joins(self, at: int) -> bool:
        """Whether the loops from a level on are one, as long as the outer ones stay in their pieces."""
        inner = [serial for level in self.nest.levels[at + 1 :] for serial, _ in level.parts]
        if len(self.nest.levels) > len(self.nest.loops) or self.inside.parts.keys() & set(inner):
            return False
        found = self.inside.accesses()
        for root in self.nest.roots:
            place = self.rows.get(id(root.tensor)) or self.function.place(root)
            found.addresses.append((root.tensor, self.inside.address(place, root.indices)))
        return len(merged(self.nest.loops[at:], found)) == 1

    def _tiles(self, at: int, begin: str, end: str, stream: str) -> None:
        """The last two loops in tiles: what a vector fetches from `TILE` lines serves as many steps of the outer loop."""
        inside, outer = self.inside, self.nest.loops[at][0]
        inner, name = self.nest.loops[at + 1][0], self.inside.names[outer]
        lines: list[object] = []
        parent, parent_lines = inside.chain[-1], inside.chain[-1].lines
        self._settle(frozenset({outer, inner}))
        parent.lines = lines
        first, count = f"{name}_tile", f"{name}_steps"
        inside.tile = Tile(outer, first, count, TILE)
        inside.vector_loop(
            inner,
            lambda _: inside.serial_loop(
                outer, lambda: self._store(""), begin=first, end=f"{first} + {count}"
            ),
        )
        inside.tile = None
        parent.lines = parent_lines
        lines.insert(
            0, f"const int64_t {count} = {first} + {TILE} < {end} ? {TILE} : {end} - {first};"
        )
        head = f"for (int64_t {first} = {begin}; {first} < {end}; {first} += {TILE}) {{"
        parent.lines += [head, lines, "}"]

    def _settle(self, below: frozenset[int]) -> None:
        """Computes the reductions that the innermost loop needs before it is opened."""
        for root in self.nest.roots:
            if root.columns or below & root.variables:
                for _ in self.inside.steps_together():
                    axes = {serial: self.inside.moved(index) for serial, index in root.axes.items()}
                    self.inside.settle(_computed(root), axes, below)

    def _store_outer(self, at: int) -> None:
        """Stores the tensors whose last loop this is, if more loops follow."""
        for root in self._outer_roots(at):
            self._store_root(root, "")

    def _outer_roots(self, at: int) -> Iterator[Root]:
        """The tensors whose last loop this is, if more loops follow."""
        levels = self.nest.levels
        if at + 1 == len(levels):
            return
        known = frozenset().union(*(level.settled for level in levels[: at + 1]))
        loops = {serial for serial, _ in self.nest.loops}
        for root in self.nest.roots:
            used = root.variables & loops
            if not root.columns and used <= known and levels[at].settled & used:
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
        for _ in self.inside.steps_together():
            indices = tuple(map(self.inside.moved, root.indices))
            value = self.inside.root(root.tensor, indices)
            self.inside.store(root.tensor, indices, value, stream=stream)

    def _streams(self) -> str:
        """A condition in C: the outputs are large, and their rows lie so that they can be written past the caches."""
        nest = self.nest
        if nest.along or nest.transposed or not nest.loops:
            return ""
        wide = self._wide()
        sizes = {dtype_of(self.function.place(root).dtype).bytes for root in wide}
        if not wide or (len(nest.loops) == 1 and len(sizes) > 1):
            return ""
        last = self.function.place(wide[-1]).name[1:]
        terms = []
        for root in wide:
            size, index = (
                dtype_of(self.function.place(root).dtype).bytes,
                self.function.place(root).name[1:],
            )
            total = elements_of(root.tensor)
            if total.constant is not None and total.constant * size < self.options.stream_bytes:
                return ""
            terms.append(f"({self.function.size(total)})*{size} >= {self.options.stream_bytes}")
            if len(nest.loops) > 1:
                terms.append(f"(({self.function.size(nest.loops[-1][1])})*{size}) % 64 == 0")
            if len(sizes) > 1:
                terms.append(f"(uintptr_t)b[{index}] % 64 == 0")
            else:
                terms.append(
                    f"(uintptr_t)b[{index}] % 64 == (uintptr_t)b[{last}] % 64 && (uintptr_t)b[{index}] % {size} == 0"
                )
        return " && ".join(terms)

    def _wide(self) -> list[Root]:
        """What the innermost loop writes to memory."""
        last = self.nest.loops[-1][0]
        return [root for root in self.nest.roots if not root.columns and last in root.variables]

    def _head(self, serial: int) -> str:
        """How many steps the innermost loop is from where it may write past the caches; rows begin as the array does.

        To a multiple of a vector, or of a line where that is less: outputs of several sizes begin at lines, no further.
        """
        buffer = self.function.place(self._wide()[-1])
        size = dtype_of(buffer.dtype).bytes
        place = f"(uintptr_t)({buffer.name} + {self.inside.names[serial]})"
        return f"stream ? (int64_t)((0 - {place}) % least(LANES*{size}, 64)) / {size} : 0"

    # parts of threads

    def _full_reduction(self) -> tuple[str, str]:
        """A reduction of everything: each thread its part, then the parts."""
        (root,), number = self.nest.roots, self.number
        body = root.tensor.op.body[root.tensor.value_index]
        assert isinstance(body, Reduce)
        value, steps, grain = part_of_reduction(self.inside, root.tensor, root.axes)
        tag = vectors.tag_of(root.tensor.dtype)
        c, prefix = vectors.c_type(tag), vectors.memory_of(self.function.place(root).dtype)
        self.inside.chain[0].lines.append(f"*part_result = {value.text};")
        text = self.function.text(
            f"int64_t begin, int64_t end, {c} *part_result", (), self.inside.chain[0].lines
        )
        parts = f"{c} parts{number}[{MAX_THREADS}]; int count{number} = 1;"
        alone = f"{self.function.name}(b, s, INT64_C(0), {steps}, &parts{number}[0]);"
        given = f".own = (char *)parts{number}, .own_bytes = sizeof *parts{number}"
        both = combine(body.op, tag, f"parts{number}[0]", f"parts{number}[t]")
        place = f"({dtype_of(self.function.place(root).dtype).c} *)b[{self.function.place(root).name[1:]}]"
        last = [
            f"for (int t = 1; t < count{number}; t++) parts{number}[0] = {both};",
            f"{prefix}_store_part({place}, parts{number}[0], 1);",
        ]
        part, call = self.function.shared(
            steps, grain, alone, arguments=f"({c} *)own", given=given, count=f"count{number}"
        )
        return joined(text, part), "\n  ".join(["{", parts, call, *last, "}"])


def _computed(root: Root) -> Expr:
    """What the innermost loop computes for a root."""
    body = root.tensor.op.body[root.tensor.value_index]
    return body.source if root.columns and isinstance(body, Reduce) else body
