"""Lowers stages to C statements: each value is hoisted to the outermost legal loop.

What nobody stores is never a buffer: a broadcast costs nothing, a row's sum is a vector that the row's loop uses, an
expression that two outputs share is computed once.

One file of more than 500 lines: it is one class, until lowering goes through a loop IR.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.axis_merging import Accesses, accesses_of, division, index_poly
from tbe_impl.codegen.fast_binary_operations import binary, quotient_of
from tbe_impl.codegen.half_precision_tables import HalfCells
from tbe_impl.codegen.index_ranges import Piece, Ranges, is_natural, signs
from tbe_impl.codegen.loads import load, load_flat
from tbe_impl.codegen.loop_fission import in_strips
from tbe_impl.codegen.loop_levels import (
    Buffer,
    Index,
    NeedsBuffer,
    Scope,
    Tile,
    TileMade,
    Together,
    Value,
    VectorLoop,
    loops_of,
)
from tbe_impl.codegen.options import LoopChoice, Options
from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.reduction_loops import SumLoops
from tbe_impl.codegen.reductions import reduce
from tbe_impl.codegen.row_buffers import kept_row
from tbe_impl.codegen.source_comments import mark_of
from tbe_impl.codegen.streaming_store_edges import stored_at_edge
from tbe_impl.codegen.table_loops import in_cells
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, IterVar, Read, Reduce, Select, Var
from tbe_impl.dsl.tensor import Operation, Tensor
from tbe_impl.errors import CompileError

FEWEST_LANES = 4


class Elaborator:
    """Writes the body of one nest.

    Args:
        buffers: ``id`` of a tensor that can be read → where it lies.
        targets: the same for those that this nest writes; they are computed here, never read back.
        names: serial number of a size → its name in C.
        kept: ``id`` of stages whose rows are worth keeping from one loop over a row to the next.
        slow: ``id`` of stages that are stored rather than computed again and again.
        options: how code is made.
        sums: ``id`` of a reduction → the loops that somebody asks for.
        short: ``id`` of calls → shorter functions that may compute them; see `tbe_impl.codegen.half_accuracy` and `.deficits`.

    Attributes:
        summed: ``id`` of a reduction → the loops that were asked for, as they became.
        parts: serial number of an index → where what its thread and the blocks around leave of its loop begins and ends.
        spans: of an index of a tile, its first step and how many there are.
        tiles: ``id`` of a stage of which tiles are computed in loops of others → what its tiles are like.
        stage: what is being computed.
        half_cells: the table of what is written, if it is a function of one float16 number.
    """

    def __init__(
        self,
        buffers: Mapping[int, Buffer],
        targets: Mapping[int, Buffer],
        names: Mapping[int, str],
        options: Options,
        kept: Container[int] = (),
        slow: Container[int] = (),
        sums: Mapping[int, Sequence[LoopChoice]] = MappingProxyType({}),
        short: Mapping[int, str] = MappingProxyType({}),
    ):
        self.slow, self.sums, self.short = slow, sums, short
        self.summed: dict[int, SumLoops] = {}
        self.buffers, self.targets, self.options, self.kept = (
            dict(buffers),
            dict(targets),
            options,
            kept,
        )
        self.names = dict(names)
        self.extents: dict[int, Poly] = {}
        self.ranges = Ranges(self.extents)
        self.joined: Ranges | None = None
        self.sources: Sequence[tuple[Expr, Mapping[int, Index]]] = ()
        self.chain: list[Scope] = [Scope()]
        self.parts: dict[int, tuple[str, str]] = {}
        self.spans: dict[int, tuple[Poly, Poly]] = {}
        self.tiles: dict[int, TileMade] = {}
        self.vector: int | None = None
        self.count = "LANES"
        self.inside_select = 0
        self.prefetch: int | None = None
        self.half_cells: HalfCells | None = None
        self.filling: int | None = None
        self.unfinished: list[int] = []
        self.reused: set[int] = set()
        self.tile: Tile | None = None
        self.together: Together | None = None
        self.step = 0
        self.accumulators = options.accumulators
        self.serial = itertools.count()
        self.stage: Operation | None = None
        self._settled: set[object] = set()
        self._loops = itertools.count()

    # loops

    def loop_variable(self, serial: int, extent: Poly) -> str:
        """Announces a loop and names its variable."""
        name = f"i{next(self._loops)}"
        self.names[serial], self.extents[serial] = name, extent
        return name

    def block_of(self, serial: int, step: int) -> Poly:
        """The first step of a block, as a variable."""
        # the numbers of other variables are not negative
        self.names[~serial] = f"{self.names[serial]}_block{step}"
        return Poly.variable(~serial)

    def part_of(self, serial: int) -> tuple[Poly, Poly]:
        """Where the blocks around a loop leave it to begin, and how many steps it takes at most."""
        begin, _ = self.parts.get(serial, ("0", ""))
        prefix = f"{self.names.get(serial)}_block"
        if begin.startswith(prefix):
            step = int(begin.removeprefix(prefix))
            return self.block_of(serial, step), Poly.of(step)
        return self.spans.get(serial) or (ZERO, self.extents.get(serial, ONE))

    @contextmanager
    def computing(
        self, sources: Sequence[tuple[Expr, Mapping[int, Index]]], *, are_plain: bool = False
    ) -> Iterator[None]:
        """Inside, loops compute these expressions, each with what its axes are, and are cut where they ask for it.

        `are_plain` where it is known already that they ask for nothing.
        """
        before, self.sources = self.sources, sources
        if are_plain or self.accesses().are_plain:
            self.sources = ()
        try:
            yield
        finally:
            self.sources = before

    def accesses(self) -> Accesses:
        """What the loops being written read, as far as their ranges tell."""
        found = Accesses()
        for expression, environment in self.sources:
            known = {
                key: item if isinstance(item, Poly) else None for key, item in environment.items()
            }
            found.add(accesses_of([expression], known, self.buffers, self.ranges.holds))
        return found

    def pieces(self, serial: int, begin: str = "0", end: str | None = None) -> list[Piece]:
        """The parts of a loop in each of which the conditions on its variable are known."""
        first, behind = self.ranges.of(serial)
        whole = begin == "0" and end is None
        limit = end or self.text(self.extents[serial])
        around = frozenset().union(*(scope.variables for scope in self.chain)) - {self.vector}
        asked = self.accesses()
        values = [value for item in asked.conditions for value in signs(*item)]
        values += [
            value - Poly.of(multiple)
            for value, divisor in asked.divided
            for multiple in self.ranges.multiples(value, divisor)
        ]
        # not at a bound that differs from lane to lane, or that is not known yet
        known = [
            value
            for value in values
            if value.variables <= self.names.keys()
            and self.vector not in value.variables - {serial}
        ]
        cuts = self.ranges.cuts(serial, known, around)
        if not cuts:
            steps = self.extents[serial].constant if whole else None
            return [Piece(serial, first, behind, begin, limit, steps, False)]
        found = []
        for least, most in zip([first, *cuts], [*cuts, behind], strict=True):
            is_first, is_last = least is first, most is behind
            inside = whole and is_natural(self.extents[serial] - most)
            found.append(
                Piece(
                    serial,
                    least,
                    most,
                    begin
                    if is_first
                    else self.text(least)
                    if whole and is_natural(least)
                    else f"most({begin}, {self.text(least)})",
                    limit
                    if is_last
                    else self.text(most)
                    if inside
                    else f"least({limit}, {self.text(most)})",
                    (most - least).constant if inside and is_natural(least) else None,
                    True,
                )
            )
        return found

    @contextmanager
    def within(self, piece: Piece) -> Iterator[None]:
        """Inside, a loop runs over a piece only."""
        if not piece.is_cut:
            yield
            return
        with self.ranges.within(piece.serial, piece.least, piece.behind):
            yield

    def serial_loop(
        self, serial: int, body: Callable[[], None], *, begin: str = "0", end: str | None = None
    ) -> None:
        """One step after the other; `body` writes the inside."""
        for piece in self.pieces(serial, begin, end):
            with self.within(piece):
                self.serial_piece(piece, body)

    def serial_piece(self, piece: Piece, body: Callable[[], None]) -> Scope:
        """The steps of a piece of a loop one after the other; told is what its inside was written in."""
        name, scope, parent = (
            self.names[piece.serial],
            Scope(frozenset({piece.serial}), in_turn=not piece.is_cut),
            self.chain[-1],
        )
        self.chain.append(scope)
        body()
        self.chain.pop()
        parent.lines += [
            f"for (int64_t {name} = {piece.begin}; {name} < {piece.end}; {name}++) {{",
            scope.lines,
            "}",
        ]
        return scope

    def joined_loop(
        self,
        piece: Piece,
        inner: Sequence[int],
        body: Callable[[int], None],
        unroll: int,
        head: str,
    ) -> None:
        """All steps of the loops `inner` in all steps of a piece of the loop around them, as one vector loop.

        The outer variables stay where the piece begins, and the last one goes on. `head` is that of `vector_loop`.
        """
        *middle, last = inner
        parent, outer = self.chain[-1], self.names[piece.serial]
        extent = ONE
        for serial in inner:
            extent = extent * self.extents[serial]
        steps = (piece.behind - piece.least) * extent
        # conditions see the loops as they are; addresses go from the first row's beginning to the last one's end
        self.joined = Ranges(self.extents | {last: steps})
        standing = dict.fromkeys(middle, (ZERO, ONE))
        self.joined.known = (
            self.ranges.known | standing | {piece.serial: (piece.least, piece.least + ONE)}
        )
        known = piece.steps is not None
        end = self.text(steps) if known else f"({piece.end} - {outer})*({self.text(extent)})"
        whole = Piece(last, ZERO, steps, "0", end, steps.constant if known else None, False)
        scope = Scope(frozenset({piece.serial, *middle}))
        scope.lines.append(f"const int64_t {outer} = {piece.begin};")
        scope.lines += [f"const int64_t {self.names[serial]} = 0;" for serial in middle]
        self.chain.append(scope)
        self._vector_piece(whole, body, unroll, head)
        self.chain.pop()
        self.joined = None
        parent.lines += [f"if ({piece.begin} < {piece.end}) {{", scope.lines, "}"]

    def vector_loop(
        self,
        serial: int,
        body: Callable[[int], None],
        *,
        unroll: int = 1,
        begin: str = "0",
        end: str | None = None,
        head: str = "",
    ) -> None:
        """LANES steps at once, then the rest; `body` writes one vector and is told its number among `unroll`.

        `head` is the number of steps, less than LANES, from where the variable stands to where stores are aligned; empty
        where that does not matter.
        """
        for piece in self.pieces(serial, begin, end):
            with self.within(piece):
                self._vector_piece(piece, body, unroll, head)

    def _vector_piece(
        self, piece: Piece, body: Callable[[int], None], unroll: int, head: str
    ) -> None:
        serial, limit = piece.serial, piece.end
        name, parent = self.names[serial], self.chain[-1]
        outer_vector, outer_count = self.vector, self.count
        self.vector = serial
        self.unfinished.append(serial)
        first: Sequence[object] = ()
        if head:
            self.count = f"{name}_head"
            first = self._copy(serial, body, 0)
            self.count = "LANES"
        copies = [self._copy(serial, body, copy) for copy in range(unroll)] if unroll > 1 else []
        is_long = piece.steps is None or piece.steps >= FEWEST_LANES
        whole = self._copy(serial, body, 0) if is_long else ()
        strips = in_strips(name, limit, whole) if self.options.strips and not copies else ()
        rest: Sequence[object] = ()
        if head or piece.steps is None or piece.steps % 64 or self.half_cells:
            self.count = f"{name}_rest"
            rest = self._copy(serial, body, 0)
        half = () if copies else in_cells(name, piece.begin, limit, whole, rest, self.half_cells)
        self.vector, self.count = outer_vector, outer_count
        self.unfinished.pop()
        parent.lines.append(
            VectorLoop(name, piece.begin, limit, head, first, copies, strips, whole, rest, half)
        )

    def _copy(self, serial: int, body: Callable[[int], None], copy: int) -> list[object]:
        """The statements for one vector, the first of several that are computed at once or a later one."""
        name, scope = self.names[serial], Scope(frozenset({serial}))
        if copy:
            self.names[serial] = f"{name}_{copy}"
            scope.lines.append(f"const int64_t {name}_{copy} = {name} + {copy}*LANES;")
        self.chain.append(scope)
        body(copy)
        self.chain.pop()
        self.names[serial] = name
        return scope.lines

    def steps_together(self) -> Iterator[int]:
        """The steps that are computed at once, each as the one that is being written."""
        for step in range(self.together.steps if self.together else 1):
            self.step = step
            yield step
        self.step = 0

    def moved(self, index: Poly) -> Poly:
        """An index of the first of these steps in the one that is being written."""
        found = self.together.moved(index, self.step) if self.together else index
        assert isinstance(found, Poly)
        return found

    # values

    def depth_of(self, variables: frozenset[int]) -> int:
        """The innermost level that one of the variables belongs to."""
        for depth in range(len(self.chain) - 1, 0, -1):
            if self.chain[depth].variables & variables:
                return depth
        return 0

    def changed_by(self, depth: int) -> frozenset[int]:
        """What the loops down to a level change."""
        return frozenset().union(
            *(scope.variables | scope.blocks for scope in self.chain[: depth + 1])
        )

    def text(self, index: Poly) -> str:
        """An index in C."""
        return index.text(self.names)

    def let(self, text: str, tag: str, depth: int) -> Value:
        """The vector that a text stands for on a level, a new one unless it was computed there already."""
        memo, key = self.chain[depth].memo, (text, tag)
        if key not in memo:
            memo[key] = self.fetched(text, tag, depth)
        return memo[key]

    def fetched(self, text: str, tag: str, depth: int) -> Value:
        """A new vector on a level, out of memory: where something is written in between, the same text finds another one."""
        name = f"v{next(self.serial)}"
        self.chain[depth].lines.append(
            f"const {vectors.c_type(tag)} {name} = {text};{mark_of(self.stage)}"
        )
        return Value(name, tag, depth)

    def read(self, tensor: Tensor, indices: Sequence[Index]) -> Value:
        """An element of a tensor: loaded, or computed here."""
        key = (
            id(tensor),
            tuple(item.text if isinstance(item, Value) else item for item in indices),
        )
        for scope in self.chain:
            if key in scope.memo:
                return scope.memo[key]
        if id(tensor) in self.buffers:
            found = load(self, tensor, indices)
        elif id(tensor) in self.kept and self.vector is not None and indices:
            found = kept_row(self, tensor, indices)
        else:
            found = self.compute(tensor, indices)
        self.remember(key, found)
        return found

    def remember(self, key: tuple[int, tuple[str | Poly, ...]], found: Value) -> None:
        """Keeps a value where it stays true: not longer than the piece of a loop that it was computed for."""
        used = loops_of(key[1])
        depth = max(found.depth, self.depth_of(used & self.ranges.known.keys()))
        self.chain[depth].memo[key] = found

    def settle(self, node: Expr, environment: Mapping[int, Index], inner: frozenset[int]) -> None:
        """Computes the reductions in an expression that do not change in the loops `inner`, which are not open yet."""
        if isinstance(node, Read):
            known = {
                key: item if isinstance(item, Poly) else None for key, item in environment.items()
            }
            indices = [index_poly(item, known) for item in node.indices]
            tensor = node.tensor
            if id(tensor) in self.buffers or None in indices or not tensor.op.body:
                return
            polys = [item for item in indices if item is not None]
            pieces = tuple(sorted(self.ranges.known.items()))
            key = (id(tensor), tuple(polys), inner, pieces)
            if key in self._settled:
                return
            self._settled.add(key)
            body = tensor.op.body[tensor.value_index]
            if not isinstance(body, Reduce):
                self.settle(
                    body, dict(zip((a.serial for a in tensor.op.axis), polys, strict=True)), inner
                )
            elif not any(item.variables & inner for item in polys):
                self.read(tensor, polys)
            return
        holds = self._holds(node.condition, environment) if isinstance(node, Select) else None
        if isinstance(node, Select) and holds is not None:
            self.settle(node.a if holds else node.b, environment, inner)
            return
        self.inside_select += isinstance(node, Select)
        for child in node.children:
            self.settle(child, environment, inner)
        self.inside_select -= isinstance(node, Select)

    def _holds(self, condition: Expr, environment: Mapping[int, Index]) -> bool | None:
        """Whether the ranges of the loops say that a condition holds, or that it does not."""
        known = {key: item if isinstance(item, Poly) else None for key, item in environment.items()}
        return self.ranges.holds(condition, known)

    def compute(self, tensor: Tensor, indices: Sequence[Index]) -> Value:
        """An element of a stage from its body, whether or not the stage is stored as well."""
        before, self.stage = self.stage, tensor.op
        try:
            return self._computed(tensor, indices)
        finally:
            self.stage = before

    def _computed(self, tensor: Tensor, indices: Sequence[Index]) -> Value:
        op = tensor.op
        if not op.body:
            raise NeedsBuffer(tensor)
        body = op.body[tensor.value_index]
        if isinstance(body, Reduce):
            return self._reduced(tensor, body, indices)
        if id(tensor) in self.slow and self.repeats(indices):
            raise NeedsBuffer(tensor)
        environment = dict(zip((axis.serial for axis in op.axis), indices, strict=True))
        return self._rounded(tensor, self.expression(body, environment))

    def _reduced(self, tensor: Tensor, body: Reduce, indices: Sequence[Index]) -> Value:
        """A reduction; the first of steps that are computed at once has those of all of them computed in one loop."""
        together, places = self.together, [tuple(indices)]
        used = loops_of(indices)
        if together is not None and self.step == 0 and together.loop in used:
            later = range(1, together.steps)
            places += [tuple(together.moved(item, step) for item in indices) for step in later]
        serials = [axis.serial for axis in tensor.op.axis]
        environments = [dict(zip(serials, place, strict=True)) for place in places]
        found = [self._rounded(tensor, one) for one in reduce(self, tensor, body, environments)]
        for place, one in zip(places[1:], found[1:], strict=True):
            polys = tuple(
                item for item in place if isinstance(item, Poly)
            )  # others are stored first
            self.remember((id(tensor), polys), one)
        return found[0]

    def _rounded(self, tensor: Tensor, found: Value) -> Value:
        """As the device has it, if that is asked for."""
        if self.options.rounding == "device" and tensor.dtype in ("float16", "bfloat16"):
            return self.let(
                vectors.cast("float32", tensor.dtype, found.text), found.tag, found.depth
            )
        return found

    def repeats(self, indices: Sequence[Index]) -> bool:
        """Whether a loop outside changes none of the indices, so that the same elements would be computed once more."""
        if not all(isinstance(item, Poly) for item in indices):
            return False
        used = loops_of(indices)
        depth = self.depth_of(used)
        return depth > 0 and not self.changed_by(depth) <= used

    def root(self, tensor: Tensor, indices: Sequence[Poly]) -> Value:
        """An element that is going to be stored; others of the nest that read the same element find it."""
        key = (id(tensor), tuple(indices))
        for scope in self.chain:
            if key in scope.memo:
                return scope.memo[key]
        found = self.compute(tensor, indices)
        self.remember(key, found)
        return found

    def expression(self, node: Expr, environment: Mapping[int, Index]) -> Value:
        """A vector with the value of an expression."""
        tag = vectors.tag_of(node.dtype) if node.dtype != "handle" else ""
        if isinstance(node, Const):
            return Value(vectors.literal(self._constant(node), tag), tag)
        if isinstance(node, Var) and is_float(node.dtype):
            return self._scalar(node)
        if isinstance(node, (IterVar, Var)):
            index = self.index(node, environment)
            return self.as_vector(index, tag)
        if isinstance(node, Read):
            found = load_flat(self, node, environment)
            if found is not None:
                return found
            return self.read(node.tensor, [self.index(item, environment) for item in node.indices])
        if isinstance(node, Cast):
            inner = self.expression(node.value, environment)
            text = vectors.cast(node.value.dtype, node.dtype, inner.text)
            return self.let(text, tag, inner.depth) if text != inner.text else inner
        if isinstance(node, Select):
            holds = self._holds(node.condition, environment)
            if holds is not None:
                return self.expression(node.a if holds else node.b, environment)
        elif tag == vectors.MASK:
            holds = self._holds(node, environment)
            if holds is not None:
                return Value(vectors.literal(holds, tag), tag)
        quotient = quotient_of(self, node, environment)
        if quotient is not None:
            return quotient
        self.inside_select += isinstance(node, Select)
        parts = [self.expression(child, environment) for child in node.children]
        self.inside_select -= isinstance(node, Select)
        depth = max(part.depth for part in parts)
        texts = [part.text for part in parts]
        if isinstance(node, Select):
            return self.let(vectors.select(tag, *texts), tag, depth)
        if isinstance(node, Binary):
            return binary(self, node, tag, *parts)
        if isinstance(node, Call):
            name = self.short.get(id(node), node.name) if parts[0].tag == "f32" else node.name
            return self.let(vectors.function(name, node.args[0].dtype, texts), tag, depth)
        raise CompileError(f"{node} may only be the whole body of a stage")

    def _scalar(self, node: Var) -> Value:
        """A number that is handed over; rounded once, as a constant would be."""
        key, memo = (node.serial, ()), self.chain[0].memo
        if key not in memo:
            narrow = node.dtype in ("float16", "bfloat16")
            dtype = "float32" if narrow and self.options.rounding != "device" else node.dtype
            wide = vectors.splat("f64", f"scalar_of({self.names[node.serial]})")
            memo[key] = self.let(vectors.cast("float64", dtype, wide), vectors.tag_of(dtype), 0)
        return memo[key]

    def _constant(self, node: Const) -> float | int | bool:
        """Its value; the device has it in its dtype."""
        if self.options.rounding == "device" and node.dtype in ("float16", "bfloat16"):
            return float(np.asarray(node.value).astype(dtype_of(node.dtype).numpy))
        return node.value

    def index(self, node: Expr, environment: Mapping[int, Index]) -> Index:
        """An index of a tensor."""
        known = {key: item if isinstance(item, Poly) else None for key, item in environment.items()}
        found = index_poly(node, known)
        if found is not None:
            return found
        if isinstance(node, IterVar):
            return environment[node.serial]
        parts = division(node, known)
        quotient = None if parts is None else self.ranges.quotient(*parts)
        if isinstance(node, Binary) and parts is not None and quotient is not None:
            return quotient if node.op == "floordiv" else parts[0] - quotient * parts[1]
        value = self.expression(node, environment)
        return self.let(vectors.cast(node.dtype, "int64", value.text), "i64", value.depth)

    def as_vector(self, index: Index, tag: str) -> Value:
        """An index as a number."""
        if isinstance(index, Value):
            text = index.text if tag == index.tag else f"{tag}_from_{index.tag}({index.text})"
            return self.let(text, tag, index.depth)
        text = vectors.splat("i64", f"({self.text(index)})")
        step = index.coefficient(self.vector) if self.vector is not None else ZERO
        if step is None:
            raise CompileError("an index grows with the square of a loop")
        if step.terms:
            text = f"({text} + i64_iota()*{vectors.splat('i64', f'({self.text(step)})')})"
        if tag != "i64":
            text = f"{tag}_from_i64({text})"
        return self.let(text, tag, self.depth_of(index.variables))

    # memory

    def address(self, buffer: Buffer, indices: Sequence[Index]) -> Poly:
        address = ZERO
        for index, stride in zip(indices, buffer.strides, strict=True):
            assert isinstance(index, Poly)
            address = address + index * stride
        for first, stride in zip(buffer.origin, buffer.strides, strict=False):
            address = address - first * stride
        return address

    def store(
        self, tensor: Tensor, indices: Sequence[Poly], value: Value, *, stream: str = ""
    ) -> None:
        """Writes an element of a tensor."""
        buffer = self.targets[id(tensor)]
        prefix = vectors.memory_of(buffer.dtype)
        address = self.address(buffer, indices)
        depth = max(value.depth, self.depth_of(address.variables))
        step = address.coefficient(self.vector) if self.vector is not None else ZERO
        place = f"{buffer.name} + {self.text(address)}"
        if not step or not step.terms:
            line = f"{prefix}_store_part({place}, {value.text}, 1);"
        elif step != ONE:
            line = f"{prefix}_scatter({place}, {self.text(step)}, {value.text}, {self.count});"
        elif self.count != "LANES":
            edge = stored_at_edge(self, buffer, address, value) if stream else ""
            line = edge or f"{prefix}_store_part({place}, {value.text}, {self.count});"
        elif stream:
            line = f"if ({stream}) {prefix}_stream({place}, {value.text}); else {prefix}_store({place}, {value.text});"
        else:
            line = f"{prefix}_store({place}, {value.text});"
        self.chain[depth].lines.append(line + mark_of(tensor.op))
