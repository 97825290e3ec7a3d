"""One nest as C: its function, and the statements that share it out to threads and put their parts together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tbe_impl.backends.cpu import vector_types as vectors
from tbe_impl.backends.cpu.access import merged, size_poly
from tbe_impl.backends.cpu.elaborate import Elaborator
from tbe_impl.backends.cpu.loop_orders import Level
from tbe_impl.backends.cpu.nests import Nest, Root
from tbe_impl.backends.cpu.options import Options
from tbe_impl.backends.cpu.poly import ONE, Poly
from tbe_impl.backends.cpu.reductions import (
    accumulate,
    combine,
    identity_of,
    part_of_reduction,
    row_kind,
)
from tbe_impl.backends.cpu.scope import Buffer, Scope, Tile, render
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Expr, Reduce
from tbe_impl.dsl.tensor import Tensor

PREFETCH_STEPS = 1 << 13
"""Length of a row up to which the next one is fetched while this one is written."""

TILE = 16
"""Steps of the outer loop of a tile: elements in a cache line."""

STACKED_STEPS = 8
"""Steps of the last loop up to which it runs inside the vector loop when each of its steps does something else."""

MANY_STEPS = 64
"""Steps of a loop from which on it is worth being the vector loop."""

MAX_THREADS = 256


@dataclass(frozen=True)
class Surroundings:
    """What a nest finds around it.

    Attributes:
        symbol: what the function of the whole program is called.
        tensors: everything in memory, in the order of the pointers ``b``.
        dtypes: of their elements there.
        buffers: ``id`` of each of them → its place.
        names: serial number of each size → its name in C, in the order of ``s``.
        kept, slow: see `Elaborator`.
        options: how code is made.
    """

    symbol: str
    tensors: Sequence[Tensor]
    dtypes: Sequence[str]
    buffers: Mapping[int, Buffer]
    names: Mapping[int, str]
    kept: frozenset[int]
    slow: frozenset[int]
    options: Options


def elements_of(tensor: Tensor) -> Poly:
    """How many elements a tensor has."""
    total = ONE
    for size in tensor.shape:
        extent = size_poly(size)
        assert extent is not None
        total = total * extent
    return total


class NestWriter:
    """Writes one nest.

    Args:
        number: of the nest, for names.
        nest: what it computes.
        around: what it finds.
        readable: ``id`` of the tensors that are complete.
    """

    def __init__(self, number: int, nest: Nest, around: Surroundings, readable: set[int]):
        self.number, self.nest, self.around, self.options = number, nest, around, around.options
        # a crash on any thread shows this name
        self.name = f"{around.symbol}_nest{number}"
        buffers = {key: item for key, item in around.buffers.items() if key in readable}
        targets = {id(root.tensor): around.buffers[id(root.tensor)] for root in nest.roots}
        self.inside = Elaborator(
            buffers, targets, around.names, around.options, around.kept, around.slow
        )
        self.rows: dict[int, Buffer] = {}
        self.ranges: dict[int, tuple[str, str]] = {}

    def write(self) -> tuple[str, str]:
        """The functions, and the statements that call them."""
        nest = self.nest
        if not nest.loops and isinstance(nest.roots[0].tensor.op.body[0], Reduce):
            return self._full_reduction()
        columns = [root for root in nest.roots if root.columns]
        for root in columns:
            self.rows[id(root.tensor)] = Buffer(
                f"c{len(self.rows)}", self._place(root).strides, root.tensor.dtype
            )
        for serial, extent in nest.loops:
            self.inside.loop_variable(serial, extent)
        parted = nest.levels[nest.shared] if nest.levels else Level(())
        if nest.shared:
            # a reduction in the loops outside would be computed by every thread
            self.inside.chain[0].blocks = parted.variables
        if len(parted.parts) == 1:
            self.ranges[parted.parts[0][0]] = ("begin", "end")
        stream = self._streams()
        with self.inside.computing([(_computed(root), root.axes) for root in nest.roots]):
            self._loops(0, stream)
        if stream:
            self.inside.chain[0].lines.append("if (stream) stream_fence();")
        extra = ", char *rows" if columns else ""
        text = self._function(f"int64_t begin, int64_t end, const int stream{extra}", columns)
        steps = self._parted_steps(parted)
        grain = nest.grain or (1024 if len(nest.loops) == 1 and not nest.along else 1)
        given = f"{stream or '0'}"
        if not columns:
            alone = f"{self.name}(b, s, INT64_C(0), {steps}, {given});"
            return text, self._shared(steps, grain, self._steps(), alone, f"{self.name}(b, s, lo, hi, {given});")  # fmt: skip
        alone = f"{self.name}(b, s, INT64_C(0), {steps}, {given}, rows);"
        shared = (
            f"if (OMP_NUMBER == 0) used = OMP_COUNT; "
            f"{self.name}(b, s, lo, hi, {given}, rows + OMP_NUMBER*row_bytes);"
        )
        calls = [
            "{",
            f"  const int64_t row_bytes = {self._row_bytes(columns)};",
            "  char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);",
            "  int used = 1;",
            "  if (!rows) { missing = 1; goto done; }",
            "  " + self._shared(steps, grain, self._steps(), alone, shared),
            f"  {self.name}_columns(b, s, rows, row_bytes, used);",
            "  free(rows);",
            "}",
        ]
        return f"{text}\n\n{self._columns(columns)}", "\n  ".join(calls)

    # inside

    def _loops(self, at: int, stream: str) -> None:
        """Writes the loops from a level on, and in the innermost what is stored."""
        nest = self.nest
        if at == len(nest.levels):
            self._store("")
        elif len(nest.levels) - at == 2 and nest.transposed:
            outer, extent = nest.loops[at]
            begin, end = self._range(outer)
            if any(True for _ in self._outer_roots(at)):
                # inside of a tile its outer loop is the inner one
                self.inside.serial_loop(
                    outer, lambda: self._store_outer(at), begin=begin, end=end or self._text(extent)
                )
            self._tiles(at, begin, end or self._text(extent), stream)
        elif self._is_stacked(at):
            (outer, _), (inner, _) = nest.loops[at:]
            begin, end = self._range(outer)
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
        if not short or not long or not all({outer, inner} <= root.variables for root in nest.roots):  # fmt: skip
            return False
        pieces = self.inside.pieces(inner)
        return len(pieces) > 1 and all(piece.steps == 1 for piece in pieces)

    def _range(self, serial: int) -> tuple[str, str | None]:
        """First step of an index in the loops that are open, and the one behind its last; None for the end of all."""
        return self.ranges.get(serial, ("0", None))

    def _outer_loop(self, at: int, body: Callable[[], None], stream: str) -> None:
        """One step after the other, of an index or of its blocks; of several where they are fused."""
        inside, level, saved = self.inside, self.nest.levels[at], dict(self.ranges)
        if len(level.parts) > 1:
            self._fused_loop(level, body)
            return
        ((serial, step),) = level.parts
        if step > 1:
            begin, end = self._range(serial)
            name, lines = self._block(serial, step)
            limit = end or self._text(inside.extents[serial])
            head = f"for (int64_t {name} = {begin}; {name} < {limit}; {name} += {step}) {{"
            self._write(level, head, lines, body)
            self.ranges = saved
            return
        for piece in inside.pieces(serial, *self._range(serial)):
            with inside.within(piece):
                if inside.ranges.known and not self.nest.along and self._joins(at):
                    inner = [item for item, _ in self.nest.loops[at + 1 :]]
                    unroll = self.nest.levels[-1].unroll or self.options.unroll
                    inside.joined_loop(
                        piece, inner, lambda _: self._store("stream" if stream else ""), unroll
                    )
                else:
                    inside.serial_piece(piece, body)
                    if level.unroll:
                        # before the loop, behind what its body has put in front of it
                        inside.chain[-1].lines.insert(-3, f"#pragma GCC unroll {level.unroll}")

    def _block(self, serial: int, step: int) -> tuple[str, list[str]]:
        """What the first step of a block is called, and where it ends; loops inside stay in it."""
        _, end = self._range(serial)
        name = f"{self.inside.names[serial]}_block{step}"
        self.ranges[serial] = (name, f"{name}_end")
        limit = end or self._text(self.inside.extents[serial])
        return name, [f"const int64_t {name}_end = least({name} + {step}, {limit});"]

    def _fused_loop(self, level: Level, body: Callable[[], None]) -> None:
        inside, saved = self.inside, dict(self.ranges)
        shared = level is self.nest.levels[self.nest.shared]
        counts = [self._count(serial, step) for serial, step in level.parts]
        fused = "_".join(inside.names[serial] for serial, _ in level.parts)
        lines, rest = [], fused
        for number, (serial, step) in enumerate(level.parts):
            behind = "*".join(counts[number + 1 :])
            value = f"{rest} / ({behind})" if behind else rest
            rest = f"{fused} % ({behind})"
            begin, _ = self._range(serial)
            name, end = self._block(serial, step) if step > 1 else (inside.names[serial], [])
            value = f"({value})*{step}" if step > 1 else value
            lines += [f"const int64_t {name} = {f'{begin} + ' if begin != '0' else ''}{value};", *end]  # fmt: skip
        first, last = ("begin", "end") if shared else ("0", "*".join(counts))
        self._write(level, f"for (int64_t {fused} = {first}; {fused} < {last}; {fused}++) {{", lines, body)  # fmt: skip
        self.ranges = saved

    def _write(self, level: Level, head: str, lines: Sequence[str], body: Callable[[], None]) -> None:  # fmt: skip
        """A loop whose inside begins with some lines."""
        parent = self.inside.chain[-1]
        scope = Scope(level.settled, level.variables - level.settled, [*lines])
        self.inside.chain.append(scope)
        body()
        self.inside.chain.pop()
        parent.lines += [f"#pragma GCC unroll {level.unroll}"] if level.unroll else []
        parent.lines += [head, scope.lines, "}"]

    def _count(self, serial: int, step: int) -> str:
        """How many steps a loop takes."""
        begin, end = self._range(serial)
        limit = end or self._text(self.inside.extents[serial])
        steps = f"({limit} - {begin})" if begin != "0" else f"({limit})"
        return f"(({steps} + {step - 1}) / {step})" if step > 1 else steps

    def _vector_loop(self, at: int, stream: str) -> None:
        nest, inside = self.nest, self.inside
        ((serial, _),) = nest.levels[at].parts
        begin, end = self._range(serial)
        head = ""
        if stream:
            name = inside.names[serial]
            steps = f"(LANES - {name} % LANES) % LANES"  # a row begins where stores are aligned
            if at == 0:
                buffer = self._place(nest.roots[-1])
                size = dtype_of(buffer.dtype).bytes
                place = f"(uintptr_t)({buffer.name} + {name})"
                steps = f"(int64_t)((0 - {place}) % (LANES*{size})) / {size}"
            limit = end or self._text(inside.extents[serial])
            head = f"stream ? least({steps}, {limit} - {name}) : 0"
        self._settle(frozenset({serial}))
        length = nest.loops[-1][1].constant
        short = length is None or length <= PREFETCH_STEPS
        outer = nest.levels[at - 1].parts if at else ()
        if len(outer) == 1 and outer[0][1] == 1 and short and self.options.prefetch:
            inside.prefetch = outer[0][0]
        inside.vector_loop(
            serial,
            lambda _: self._store("stream" if stream else ""),
            head=head,
            unroll=nest.levels[at].unroll or self.options.unroll,
            begin=begin,
            end=end,
        )

    def _joins(self, at: int) -> bool:
        """Whether the loops from a level on are one, as long as the outer ones stay in their pieces."""
        inner = [serial for level in self.nest.levels[at + 1 :] for serial, _ in level.parts]
        if len(self.nest.levels) > len(self.nest.loops) or self.ranges.keys() & set(inner):
            return False
        found = self.inside.accesses()
        for root in self.nest.roots:
            place = self.rows.get(id(root.tensor)) or self._place(root)
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
        lines.insert(0, f"const int64_t {count} = {first} + {TILE} < {end} ? {TILE} : {end} - {first};")  # fmt: skip
        head = f"for (int64_t {first} = {begin}; {first} < {end}; {first} += {TILE}) {{"
        parent.lines += [head, lines, "}"]

    def _settle(self, below: frozenset[int]) -> None:
        """Computes the reductions that the innermost loop needs before it is opened."""
        for root in self.nest.roots:
            if root.columns or below & root.variables:
                self.inside.settle(_computed(root), root.axes, below)

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
        value = self.inside.root(root.tensor, root.indices)
        self.inside.store(root.tensor, root.indices, value, stream=stream)

    def _function(self, parameters: str, columns: Sequence[Root]) -> str:
        lines = self.inside.chain[0].lines
        starts: list[str] = []
        offset = "rows"
        for root in columns:
            kind = row_kind(vectors.tag_of(root.tensor.dtype))
            name, c = self.rows[id(root.tensor)].name, _row_type(kind)
            starts.append(f"{c} *{name} = ({c} *)({offset});")
            count = self._text(elements_of(root.tensor))
            body = root.tensor.op.body[root.tensor.value_index]
            assert isinstance(body, Reduce)
            neutral = vectors.literal(identity_of(body), vectors.tag_of(root.tensor.dtype))
            starts.append(f"for (int64_t i = 0; i < {count}; i++) {name}[i] = ({neutral})[0];")
            offset = f"{offset} + {self._bytes_of(root)}"
        used = render(lines)
        everything = used + "\n".join(starts)
        head = f"static void {self.name}(void **b, const int64_t *s, {parameters}) {{"
        unused = "(void)b; (void)s; (void)begin; (void)end;"
        return "\n".join([head, render([*self._declared(everything), *starts, unused]), used, "}"])

    def _declared(self, text: str) -> list[str]:
        """The pointers and sizes that a text uses."""
        found = []
        for index, dtype in enumerate(self.around.dtypes):
            if re.search(rf"\bp{index}\b", text):
                c = dtype_of(dtype).c
                found.append(f"{c} *p{index} = ({c} *)b[{index}];")
        for index, name in enumerate(self.around.names.values()):
            if re.search(rf"\b{name}\b", text):
                found.append(f"const int64_t {name} = s[{index}];")
        return found

    # around

    def _parted_steps(self, level: Level) -> str:
        """How many steps threads share: elements of an index, also where its loop runs over blocks, or steps of a fused loop."""
        if len(level.parts) == 1:
            return self._text(self.inside.extents[level.parts[0][0]])
        return "*".join(self._count(serial, step) for serial, step in level.parts) or "INT64_C(1)"

    def _text(self, size: Poly) -> str:
        return size.text(self.around.names)

    def _place(self, root: Root) -> Buffer:
        return self.around.buffers[id(root.tensor)]

    def _steps(self) -> str:
        """How many elements a nest reads and writes, for the decision about threads.

        Of a tensor no more than are written are read, where nothing is summed: rows by number are few of a large table.
        """
        own = [root.tensor for root in self.nest.roots]
        met, waiting, sums = {id(tensor) for tensor in own}, [tensor.op for tensor in own], False
        while waiting:
            op = waiting.pop()
            sums = sums or not op.body or any(isinstance(body, Reduce) for body in op.body)
            for item in op.input_tensors:
                if id(item) not in met:
                    met.add(id(item))
                    if id(item) not in self.around.buffers:
                        waiting.append(item.op)
        written = sum((elements_of(tensor) for tensor in own), Poly())
        sizes = [elements_of(tensor) for tensor in self.around.tensors if id(tensor) in met]
        return " + ".join(f"({self._at_most(size, None if sums else written)})" for size in sizes) or "1"  # fmt: skip

    def _at_most(self, size: Poly, bound: Poly | None) -> str:
        if bound is None or size == bound:
            return self._text(size)
        if size.constant is not None and bound.constant is not None:
            return self._text(size if size.constant < bound.constant else bound)
        return f"least({self._text(size)}, {self._text(bound)})"

    def _shared(self, extent: str, grain: int, steps: str, alone: str, shared: str) -> str:
        """Statements that run `alone`, or `shared` from ``lo`` to ``hi`` on each thread when that pays."""
        if _is_few(extent, grain):
            return alone
        return "\n  ".join(
            [
                f"if (threads > 1 && {steps} >= {self.options.parallel_elements}) {{",
                "  const struct caller caller = caller_here();",
                "  #pragma omp parallel num_threads((int)threads)",
                "  {",
                "    keep_apart(caller);",
                f"    const int64_t all_steps = {extent};",
                "    int64_t part = (all_steps + OMP_COUNT - 1) / OMP_COUNT;",
                f"    part = (part + {grain - 1}) / {grain} * {grain};",
                "    const int64_t lo = part * OMP_NUMBER < all_steps ? part * OMP_NUMBER : all_steps;",
                "    const int64_t hi = lo + part < all_steps ? lo + part : all_steps;",
                f"    {shared}",
                "  }",
                f"}} else {alone}",
            ]
        )

    def _streams(self) -> str:
        """A condition in C: the outputs are large, and their rows lie so that they can be written past the caches."""
        nest = self.nest
        if nest.along or nest.transposed or not nest.loops:
            return ""
        wide = [root for root in nest.roots if not root.columns and nest.loops[-1][0] in root.variables]  # fmt: skip
        sizes = {dtype_of(self._place(root).dtype).bytes for root in wide}
        if not wide or (len(nest.loops) == 1 and len(sizes) > 1):
            return ""
        last = self._place(nest.roots[-1]).name[1:]
        terms = []
        for root in wide:
            size, index = dtype_of(self._place(root).dtype).bytes, self._place(root).name[1:]
            total = elements_of(root.tensor)
            if total.constant is not None and total.constant * size < self.options.stream_bytes:
                return ""
            terms.append(f"({self._text(total)})*{size} >= {self.options.stream_bytes}")
            if len(nest.loops) > 1:
                inner = self._text(nest.loops[-1][1])
                terms.append(f"(uintptr_t)b[{index}] % 64 == 0 && (({inner})*{size}) % 64 == 0")
            else:
                terms.append(f"(uintptr_t)b[{index}] % 64 == (uintptr_t)b[{last}] % 64 && (uintptr_t)b[{index}] % {size} == 0")  # fmt: skip
        return " && ".join(terms)

    # parts of threads

    def _full_reduction(self) -> tuple[str, str]:
        """A reduction of everything: each thread its part, then the parts."""
        (root,), number = self.nest.roots, self.number
        body = root.tensor.op.body[root.tensor.value_index]
        assert isinstance(body, Reduce)
        value, extent = part_of_reduction(self.inside, body, root.axes)
        tag = vectors.tag_of(root.tensor.dtype)
        c, prefix = vectors.c_type(tag), vectors.memory_of(self._place(root).dtype)
        self.inside.chain[0].lines.append(f"*part_result = {value.text};")
        text = self._function(f"int64_t begin, int64_t end, {c} *part_result", ())
        parts = f"{c} parts{number}[{MAX_THREADS}]; int count{number} = 1;"
        alone = f"{self.name}(b, s, INT64_C(0), {self._text(extent)}, &parts{number}[0]);"
        shared = (
            f"if (OMP_NUMBER == 0) count{number} = OMP_COUNT; "
            f"{self.name}(b, s, lo, hi, &parts{number}[OMP_NUMBER]);"
        )
        both = combine(body.op, tag, f"parts{number}[0]", f"parts{number}[t]")
        place = f"({dtype_of(self._place(root).dtype).c} *)b[{self._place(root).name[1:]}]"
        last = [
            f"for (int t = 1; t < count{number}; t++) parts{number}[0] = {both};",
            f"{prefix}_store_part({place}, parts{number}[0], 1);",
        ]
        call = self._shared(self._text(extent), 64, self._text(extent), alone, shared)
        return text, "\n  ".join(["{", parts, call, *last, "}"])

    def _bytes_of(self, root: Root) -> str:
        """Bytes of one thread's row, a whole number of cache lines."""
        size = vectors.bits(vectors.tag_of(root.tensor.dtype)) // 8
        return f"((({self._text(elements_of(root.tensor))})*{size} + 63) & ~INT64_C(63))"

    def _row_bytes(self, columns: Sequence[Root]) -> str:
        return " + ".join(map(self._bytes_of, columns)) + " + 64"

    def _columns(self, columns: Sequence[Root]) -> str:
        """The function that adds the rows of all threads."""
        lines: list[str] = []
        offset = "0"
        for root in columns:
            body = root.tensor.op.body[root.tensor.value_index]
            assert isinstance(body, Reduce)
            tag, prefix = (
                vectors.tag_of(root.tensor.dtype),
                vectors.memory_of(self._place(root).dtype),
            )
            kind, name = row_kind(tag), self._place(root).name
            c = _row_type(kind)
            both = combine(body.op, tag, "v", f"{kind}_load_part(({c} *)(rows + t*row_bytes + {offset}) + i, n)")  # fmt: skip
            lines += [
                f"for (int64_t i = 0; i < {self._text(elements_of(root.tensor))}; i += LANES) {{",
                f"  const int64_t left = {self._text(elements_of(root.tensor))} - i;",
                "  const int n = left < LANES ? (int)left : LANES;",
                f"  {vectors.c_type(tag)} v = {kind}_load_part(({c} *)(rows + {offset}) + i, n);",
                f"  for (int t = 1; t < used; t++) v = {both};",
                f"  {prefix}_store_part({name} + i, v, n);",
                "}",
            ]
            offset = f"{offset} + {self._bytes_of(root)}"
        head = f"static void {self.name}_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {{"
        declared = self._declared("\n".join(lines))
        return "\n".join([head, render([*declared, "(void)b; (void)s;", *lines]), "}"])


def _computed(root: Root) -> Expr:
    """What the innermost loop computes for a root."""
    body = root.tensor.op.body[root.tensor.value_index]
    return body.source if root.columns and isinstance(body, Reduce) else body


def _is_few(extent: str, grain: int) -> bool:
    """Whether a number of steps is known and no more than stay on one thread."""
    found = re.fullmatch(r"(?:INT64_C\()?(\d+)\)?", extent)
    return found is not None and int(found[1]) <= grain


def _row_type(kind: str) -> str:
    """The C type of an element of a row."""
    if kind[0] == "f":
        return "float" if kind == "f32" else "double"
    return f"{'u' if kind[0] == 'u' else ''}int{kind[1:]}_t"
