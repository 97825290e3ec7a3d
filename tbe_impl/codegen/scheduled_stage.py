"""Emits the loops of one stage exactly as its schedule fixes them.

Where a loop over results stands inside one over what is summed up, the sums of these results lie in memory meanwhile:

    for the loops outside of all sums:
        fill the rows with what changes no result
        for the others, in the order that was asked for:
            add to the rows
        store the rows

A stage of which a tile is computed inside of such a loop has loops of its own there, over what the tile holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.index_ranges import is_natural
from tbe_impl.codegen.loop_headers import open_levels, range_of
from tbe_impl.codegen.loop_levels import Buffer, Scope, TileMade, Value
from tbe_impl.codegen.loop_orders import Level
from tbe_impl.codegen.lowering import Elaborator
from tbe_impl.codegen.nest_function import Surroundings
from tbe_impl.codegen.partition import Nest, Root, exact_nest
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.reduction_loops import SumLoops
from tbe_impl.codegen.reductions import combine, contribution, identity_of, row_kind, sum_inside
from tbe_impl.codegen.scheduled_loops import ExactLoops
from tbe_impl.codegen.thread_partial_sums import ThreadRows, row_type
from tbe_impl.codegen.tiles import Span, tile_of
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor

NARROW = ("float16", "bfloat16")


class ExactStage:
    """Writes the loops of one stage.

    Args:
        inside: writes what stands in them; their variables are announced.
        memory: of a thread.
        around: what the program knows.
        root: the stage's result.
        levels, exact: its loops.
    """

    def __init__(
        self,
        inside: Elaborator,
        memory: ThreadRows,
        around: Surroundings,
        root: Root,
        levels: tuple[Level, ...],
        exact: ExactLoops,
    ):
        self.inside, self.memory, self.around, self.root = inside, memory, around, root
        self.levels, self.exact = levels, exact
        body = root.tensor.op.body[root.tensor.value_index]
        self.body = body if isinstance(body, Reduce) else None
        self.source = contribution(body) if isinstance(body, Reduce) else body
        self.tag = vectors.tag_of(root.tensor.dtype)
        self.origin: dict[int, Poly] = {}

    def write(self, *, shared: int | None = None) -> None:
        """All of it; `shared` is the level that threads share."""
        self.shared = shared
        if self.exact.together:
            self.row = self.memory.buffers[id(self.root.tensor)]
        elif self.exact.keeps_rows:
            self.row = self._row()
        self._open(0)

    def _row(self) -> Buffer:
        """Where sums lie that the loops around do not settle."""
        inside, tensor = self.inside, self.root.tensor
        outside = self.levels[: self.exact.first_sum]
        settled = frozenset().union(*(level.settled for level in outside))
        blocks = {serial: step for level in outside for serial, step in level.parts if step > 1}
        strides: dict[int, Poly] = {}
        count = ONE
        near = {serial for serial, _ in self.levels[self.exact.vector].parts}
        axes = [axis.serial for axis in reversed(tensor.op.axis) if axis.serial in inside.extents]
        for serial in sorted(axes, key=lambda item: item not in near):
            if serial in settled:
                continue
            strides[serial] = count
            first, size = inside.part_of(serial)
            if serial in blocks:
                first, size = inside.block_of(serial, blocks[serial]), Poly.of(blocks[serial])
            self.origin[serial] = first
            count = count * size
        steps = tuple(strides.get(axis.serial, ZERO) for axis in tensor.op.axis)
        kind = row_kind(self.tag)
        name = self.memory.area(row_type(kind), vectors.bits(self.tag) // 8, count)
        return Buffer(name, steps, tensor.dtype)

    # loops

    def _open(self, at: int) -> None:
        """Opens the loops from a level on, and computes what stands in them."""
        exact = self.exact
        if at == exact.first_sum and exact.keeps_rows and not exact.together:
            self._over_rows(self._start)
            self._further(at)
            self._over_rows(self._finish)
        else:
            self._further(at)

    def _further(self, at: int) -> None:
        exact, inside = self.exact, self.inside
        if at == exact.inside:
            with inside.computing([(self.source, self.root.axes)]):
                self._compute()
            return
        level = self.levels[at]

        def further() -> None:
            with self._tiles(level, at):
                self._open(at + 1)

        with inside.computing([(self.source, self.root.axes)]):
            if at == exact.vector:
                ((serial, _),) = level.parts
                begin, end = range_of(inside, serial)
                inside.vector_loop(serial, lambda _: further(), begin=begin, end=end)
            else:
                shared = at == self.shared and len(level.parts) > 1
                open_levels(inside, [level], further, shared=shared)

    def _over_rows(self, body: Callable[[], None]) -> None:
        """Loops over the results of which the sums lie in rows."""
        inside = self.inside
        outside = self.levels[: self.exact.first_sum]
        settled = frozenset().union(*(level.settled for level in outside))
        axes = [axis.serial for axis in self.root.tensor.op.axis if axis.serial in inside.extents]
        left = [serial for serial in axes if serial not in settled]
        scope = Scope()
        inside.chain.append(scope)
        with inside.computing([]):
            self._nested(left, body)
        inside.chain.pop()
        inside.chain[-1].lines += scope.lines

    def _nested(self, serials: Sequence[int], body: Callable[[], None]) -> None:
        begin, end = range_of(self.inside, serials[0])
        if len(serials) == 1:
            self.inside.vector_loop(serials[0], lambda _: body(), begin=begin, end=end)
        else:
            self.inside.serial_loop(
                serials[0], lambda: self._nested(serials[1:], body), begin=begin, end=end
            )

    # tiles

    @contextmanager
    def _tiles(self, level: Level, at: int) -> Iterator[None]:
        """Inside, tiles of the stages that are computed in each step of a level lie in memory; first they are filled."""
        inside, filled = self.inside, []
        for number in level.tiles:
            for tensor in self.around.named[number].op.outputs:
                if id(tensor) not in inside.buffers and self._fill(tensor, at):
                    filled.append(id(tensor))
        yield
        for key in filled:
            del inside.buffers[key]

    def _fill(self, tensor: Tensor, at: int) -> bool:
        """Computes a tile; False where each element is better computed where it is read."""
        inside = self.inside
        nest = exact_nest(
            tensor, {*inside.buffers}, self.around.exact.get(id(tensor), ()), whatever=True
        )
        settled = frozenset().union(*(level.settled for level in self.levels[: at + 1]))
        tile = tile_of(tensor, inside, self.source, self.root.axes, settled)
        if tile is None or nest is None or inside.vector is not None:
            return False
        strides, count = [], ONE
        for span in reversed(tile):
            strides.append(count)
            count = count * span.size
        dtype = (
            "float32"
            if tensor.dtype in NARROW and inside.options.rounding != "device"
            else tensor.dtype
        )
        kind = dtype_of(dtype)
        name = self.memory.area(kind.c, kind.bytes, count)
        origin = tuple(span.first for span in tile)
        buffer = Buffer(name, (*reversed(strides),), dtype, origin, count, len(inside.chain) - 1)
        self._write_tile(nest, tile, buffer)
        inside.buffers[id(tensor)] = buffer
        inside.tiles[id(tensor)] = TileMade(
            nest, self.root.tensor, at, tuple(span.size for span in tile)
        )
        return True

    def _write_tile(self, nest: Nest, tile: Sequence[Span], buffer: Buffer) -> None:
        inside, (root,) = self.inside, nest.roots
        assert nest.exact is not None
        for serial, extent in nest.loops:
            inside.loop_variable(serial, extent)
        saved = dict(inside.parts), dict(inside.spans)
        for axis, span in zip(root.tensor.op.axis, tile, strict=True):
            if axis.serial in inside.extents:
                inside.spans[axis.serial] = span.first, span.size
                inside.parts[axis.serial] = self._ends(span, inside.extents[axis.serial])
        inside.targets[id(root.tensor)] = buffer
        scope = Scope()
        inside.chain.append(scope)
        exact = replace(nest.exact, together=False)
        ExactStage(inside, self.memory, self.around, root, nest.levels, exact).write()
        inside.chain.pop()
        inside.chain[-1].lines += scope.lines
        inside.parts, inside.spans = saved
        del inside.targets[id(root.tensor)]

    def _ends(self, span: Span, extent: Poly) -> tuple[str, str]:
        """Where a loop over what a tile holds begins and ends; never outside of the tensor."""
        text = self.inside.text
        begin = text(span.first) if is_natural(span.first) else f"most(0, {text(span.first)})"
        inside = is_natural(extent - span.first - span.size)
        return begin, text(
            span.first + span.size
        ) if inside else f"least({text(span.first + span.size)}, {text(extent)})"

    # inside

    def _compute(self) -> None:
        """One element, or as many as there are lanes."""
        root, inside = self.root, self.inside
        if self.body is None:
            inside.store(root.tensor, root.indices, inside.root(root.tensor, root.indices))
            return
        levels = self.levels[self.exact.inside :]
        if levels:
            loops = SumLoops(
                levels, max(self.exact.vector - self.exact.inside, 0), {}, self._summed()
            )
            value = sum_inside(
                inside, self.body, root.axes, loops, lanes=self.exact.vector < self.exact.inside
            )
        else:
            value = inside.expression(self.source, root.axes)
        if not self.exact.keeps_rows:
            inside.store(root.tensor, root.indices, self._rounded(value))
            return
        text = combine(self.body.op, self.tag, self._load(), value.text)
        self._store(text)

    def _summed(self) -> tuple[tuple[int, Poly], ...]:
        """The loops inside of which nothing but sums stands."""
        own = {serial for level in self.levels[self.exact.inside :] for serial in level.settled}
        return tuple((serial, self.inside.extents[serial]) for serial in own)

    def _rounded(self, value: Value) -> Value:
        tensor, inside = self.root.tensor, self.inside
        if inside.options.rounding == "device" and tensor.dtype in ("float16", "bfloat16"):
            text = vectors.cast("float32", tensor.dtype, value.text)
            return inside.let(text, value.tag, len(inside.chain) - 1)
        return value

    def _start(self) -> None:
        assert self.body is not None
        self._store(vectors.literal(identity_of(self.body), self.tag))

    def _finish(self) -> None:
        inside = self.inside
        found = inside.fetched(self._load(), self.tag, len(inside.chain) - 1)
        inside.store(self.root.tensor, self.root.indices, self._rounded(found))

    # rows

    def _place(self) -> tuple[str, Poly]:
        """Where the sum of the element lies, and the step from lane to lane."""
        inside, address = self.inside, ZERO
        for index, stride in zip(self.root.indices, self.row.strides, strict=True):
            first = sum((self.origin.get(serial, ZERO) for serial in index.variables), ZERO)
            address = address + (index - first) * stride
        step = address.coefficient(inside.vector) if inside.vector is not None else ZERO
        return f"{self.row.name} + {inside.text(address)}", step or ZERO

    def _load(self) -> str:
        place, step = self._place()
        kind, count = row_kind(self.tag), self.inside.count
        if step == ZERO:
            return f"{kind}_one({place})"
        if step != ONE:
            return f"{kind}_gather({place}, {self.inside.text(step)}, {count})"
        return (
            f"{kind}_load({place})" if count == "LANES" else f"{kind}_load_part({place}, {count})"
        )

    def _store(self, text: str) -> None:
        place, step = self._place()
        kind, count = row_kind(self.tag), self.inside.count
        if step == ZERO:
            line = f"{kind}_store_part({place}, {text}, 1);"
        elif step != ONE:
            line = f"{kind}_scatter({place}, {self.inside.text(step)}, {text}, {count});"
        elif count == "LANES":
            line = f"{kind}_store({place}, {text});"
        else:
            line = f"{kind}_store_part({place}, {text}, {count});"
        self.inside.chain[-1].lines.append(line)
