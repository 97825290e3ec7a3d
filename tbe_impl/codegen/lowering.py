"""Lowers stages to the loop IR.

A stage that is not stored needs no buffer. A broadcast costs nothing. The sum of a row is computed
once, in the loop over rows. A common subexpression of two outputs is computed once.

This module exceeds 500 lines because the lowering is one class, whose methods share the state of
the open loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loads import emit_flat_load, emit_load
from tbe_impl.codegen.loop_levels import (
    AttachedTile,
    Index,
    LoopScope,
    MissingBuffer,
    TensorBuffer,
    Value,
    loop_variables_in,
    polys_of,
)
from tbe_impl.codegen.options import LoopChoice, Options
from tbe_impl.codegen.passes.fast_binary_operations import lower_binary, lower_reciprocal_product
from tbe_impl.codegen.planning.access_analysis import (
    Accesses,
    accesses_of,
    division_operands,
    index_poly,
)
from tbe_impl.codegen.planning.index_ranges import (
    Piece,
    Ranges,
    compared_differences,
    is_nonnegative,
)
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.codegen.planning.reduction_loops import ReductionLoops
from tbe_impl.codegen.reductions import lower_reduction
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Binary, Call, Cast, Const, Expr, IterVar, Read, Reduce, Select, Var
from tbe_impl.dsl.tensor import Operation, Tensor
from tbe_impl.errors import CompileError


class Lowering:
    """Lowers the body of one loop nest.

    Args:
        buffers: maps the ``id`` of a readable tensor to its buffer.
        targets: maps the ``id`` of a tensor that this nest stores to its buffer, which is never
            read back.
        names: maps the serial number (`Var.serial`) of a size to its C name.
        kept: ``id`` of the stages whose rows are worth a row buffer; see
            `tbe_impl.codegen.passes.row_buffers`.
        slow: ``id`` of the costly stages, which are stored if the loops would otherwise compute an
            element repeatedly.
        options: code generation options.
        sums: maps the ``id`` of a reduction to the loops that a schedule requests for it.
        short: maps the ``id`` of a call, quotient or reduction to a cheaper function for it; see
            `tbe_impl.codegen.passes.half_accuracy`, `tbe_impl.codegen.passes.row_maxima` and
            `tbe_impl.codegen.passes.softmax_exponentials`.

    Attributes:
        summed: maps the ``id`` of a reduction with requested loops to the resulting loops.
        block_steps: maps the serial number of an index to the size of the current block, inside a
            block loop (a loop that steps from block to block).
        spans: maps the serial number of an index of a tile to its first value and its extent.
        tiles: maps the ``id`` of a stage to its tile, for the stages that are computed tile by tile
            in loops of another stage.
        row_values: maps the name of a variable to the ``id`` of the stage in `kept` whose element
            the variable holds, in a loop over a row.
        stage: the stage that is being lowered.
    """

    def __init__(
        self,
        buffers: Mapping[int, TensorBuffer],
        targets: Mapping[int, TensorBuffer],
        names: Mapping[int, str],
        options: Options,
        kept: Container[int] = (),
        slow: Container[int] = (),
        sums: Mapping[int, Sequence[LoopChoice]] = MappingProxyType({}),
        short: Mapping[int, str] = MappingProxyType({}),
    ):
        self.slow, self.sums, self.short = slow, sums, short
        self.summed: dict[int, ReductionLoops] = {}
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
        self.chain: list[LoopScope] = [LoopScope()]
        self.block_steps: dict[int, int] = {}
        self.spans: dict[int, tuple[Poly, Poly]] = {}
        self.tiles: dict[int, AttachedTile] = {}
        self.vector: int | None = None
        self.inside_select = 0
        self.row_values: dict[str, int] = {}
        self.serial = itertools.count()
        self.stage: Operation | None = None
        self._settled: set[object] = set()
        self._loops = itertools.count()

    # loops

    def declare_loop(self, serial: int, extent: Poly) -> str:
        """Declares a loop and returns the name of its variable."""
        name = f"i{next(self._loops)}"
        self.names[serial], self.extents[serial] = name, extent
        return name

    def declare_block(self, serial: int, step: int) -> Poly:
        """Declares and returns a variable (a polynomial) for the first index of a block."""
        # negative serial numbers belong to blocks only
        self.names[~serial] = f"{self.names[serial]}_block{step}"
        return Poly.variable(~serial)

    def block_range(self, serial: int) -> tuple[Poly, Poly]:
        """Returns the first index and the extent of a loop, or of a block loop's current block.

        For the last block, the returned extent may be too large.
        """
        block = self.block_steps.get(serial)
        if block is not None:
            return self.declare_block(serial, block), Poly.from_int(block)
        return self.spans.get(serial) or (ZERO, self.extents.get(serial, ONE))

    @contextmanager
    def bind_sources(
        self, sources: Sequence[tuple[Expr, Mapping[int, Index]]], *, are_plain: bool = False
    ) -> Iterator[None]:
        """Declares which expressions the loops in the body of the ``with`` statement compute.

        Each of these loops is split where a condition, a quotient or a remainder in the expressions
        changes (index-set splitting).

        Args:
            sources: pairs of an expression and its environment, which maps the serial number of an
                axis to its index.
            are_plain: whether the expressions are known to require no splitting.
        """
        before, self.sources = self.sources, sources
        if are_plain or self.accesses().is_split_free:
            self.sources = ()
        try:
            yield
        finally:
            self.sources = before

    def accesses(self) -> Accesses:
        """Returns the memory accesses of the expressions that `bind_sources` declared.

        Reads that a condition excludes in the current ranges of the loops are left out.
        """
        found = Accesses()
        for expression, environment in self.sources:
            known = polys_of(environment)
            found.add(accesses_of([expression], known, self.buffers, self.ranges.decide_condition))
        return found

    def pieces(self, serial: int) -> list[Piece]:
        """Splits a loop into pieces in which each condition on the loop variable is decided."""
        first, behind = self.ranges.bounds_of_loop(serial)
        limit = self.index_expr(self.extents[serial])
        around = frozenset().union(*(scope.variables for scope in self.chain)) - {self.vector}
        asked = self.accesses()
        values = [value for item in asked.conditions for value in compared_differences(*item)]
        values += [
            value - Poly.from_int(multiple)
            for value, divisor in asked.divided
            for multiple in self.ranges.multiples(value, divisor)
        ]
        # no split at a bound that varies across lanes, or whose variables are not declared yet
        known = [
            value
            for value in values
            if value.variables <= self.names.keys()
            and self.vector not in value.variables - {serial}
        ]
        cuts = self.ranges.split_points(serial, known, around)
        if not cuts:
            steps = self.extents[serial].constant
            return [Piece(serial, first, behind, ir.ZERO, limit, steps, False)]
        found = []
        for least, most in zip([first, *cuts], [*cuts, behind], strict=True):
            is_first, is_last = least is first, most is behind
            inside = is_nonnegative(self.extents[serial] - most)
            found.append(
                Piece(
                    serial,
                    least,
                    most,
                    ir.ZERO
                    if is_first
                    else self.index_expr(least)
                    if is_nonnegative(least)
                    else ir.call("most", ir.ZERO, self.index_expr(least)),
                    limit
                    if is_last
                    else self.index_expr(most)
                    if inside
                    else ir.call("least", limit, self.index_expr(most)),
                    (most - least).constant if inside and is_nonnegative(least) else None,
                    True,
                )
            )
        return found

    @contextmanager
    def restrict_to(self, piece: Piece) -> Iterator[None]:
        """Restricts a loop's range to `piece` in the body of the caller's ``with`` statement."""
        if not piece.is_cut:
            yield
            return
        with self.ranges.restrict_to(piece.serial, piece.lower_bound, piece.upper_bound):
            yield

    def emit_serial_loop(self, serial: int, body: Callable[[], None]) -> None:
        """Emits a sequential loop; `body` emits the statements inside."""
        for piece in self.pieces(serial):
            with self.restrict_to(piece):
                self.emit_serial_piece(piece, body)

    def emit_serial_piece(
        self,
        piece: Piece,
        body: Callable[[], None],
        unroll: int = 0,
        jam: int = 0,
        strip: int = 0,
    ) -> None:
        """Emits a `Piece` of a loop sequentially."""
        inner = self.lower_body(LoopScope(frozenset({piece.serial})), body)
        name = self.names[piece.serial]
        loop = ir.For(name, piece.begin, piece.end, inner, unroll=unroll, jam=jam, strip=strip)
        self.chain[-1].body.append(loop)

    def lower_body(self, scope: LoopScope, body: Callable[[], None]) -> tuple[ir.Stmt, ...]:
        """Returns the statements that `body` emits on a new innermost loop level."""
        self.chain.append(scope)
        body()
        self.chain.pop()
        return tuple(scope.body)

    def emit_collapsed_loop(
        self,
        piece: Piece,
        inner: Sequence[int],
        body: Callable[[], None],
        unroll: int,
        head: ir.Expr | None,
    ) -> None:
        """Emits a `Piece` of a loop and the loops `inner` inside it, to be coalesced into one loop.

        The loops `inner` become one vector loop, in which only the last variable advances.

        Args:
            piece: a piece of the enclosing loop.
            inner: serial numbers of the loops inside the enclosing loop.
            body, unroll, head: as for `emit_vector_loop`.
        """
        *middle, last = inner
        extent = ONE
        for serial in inner:
            extent = extent * self.extents[serial]
        steps = (piece.upper_bound - piece.lower_bound) * extent
        # conditions use the ranges of the original loops; addresses range from the begin of the
        # first row to the end of the last row
        self.joined = Ranges(self.extents | {last: steps})
        standing = dict.fromkeys(middle, (ZERO, ONE))
        self.joined.known = (
            self.ranges.known
            | standing
            | {piece.serial: (piece.lower_bound, piece.lower_bound + ONE)}
        )
        row = self.index_expr(extent)
        whole = Piece(last, ZERO, extent, ir.ZERO, row, extent.constant, False)
        starts: list[ir.Stmt] = [ir.Let(self.names[serial], ir.INDEX, ir.ZERO) for serial in middle]
        scope = LoopScope(frozenset({piece.serial, *middle}), body=starts)
        rows = self.lower_body(scope, lambda: self._emit_vector_piece(whole, body, unroll, head))
        self.joined = None
        name = self.names[piece.serial]
        self.chain[-1].body.append(ir.For(name, piece.begin, piece.end, rows, inner=1))

    def emit_vector_loop(
        self,
        serial: int,
        body: Callable[[], None],
        *,
        unroll: int = 1,
        head: ir.Expr | None = None,
        accumulators: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        """Emits a vector loop, which takes LANES elements per step.

        Args:
            serial: serial number of the loop.
            body: emits one vector.
            unroll: number of vectors per iteration.
            head: number of peeled elements, less than LANES, after which stores are aligned; None
                for none.
            accumulators: see `tbe_impl.codegen.loop_ir.VectorLoop`.
        """
        for piece in self.pieces(serial):
            with self.restrict_to(piece):
                self._emit_vector_piece(piece, body, unroll, head, accumulators)

    def _emit_vector_piece(
        self,
        piece: Piece,
        body: Callable[[], None],
        unroll: int,
        head: ir.Expr | None,
        accumulators: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        serial, outer_vector = piece.serial, self.vector
        self.vector = serial
        whole = self.lower_body(LoopScope(frozenset({serial})), body)
        self.vector = outer_vector
        self.chain[-1].body.append(
            ir.VectorLoop(
                self.names[serial],
                piece.begin,
                piece.end,
                whole,
                piece.steps,
                head,
                unroll,
                accumulators,
            )
        )

    # values

    def depth_of(self, variables: frozenset[int]) -> int:
        """Returns the innermost level that changes one of the variables; 0 if none does."""
        for depth in range(len(self.chain) - 1, 0, -1):
            if self.chain[depth].variables & variables:
                return depth
        return 0

    def variables_down_to(self, depth: int) -> frozenset[int]:
        """Returns the variables that change in the loops from the outermost to level `depth`."""
        return frozenset().union(
            *(scope.variables | scope.blocks for scope in self.chain[: depth + 1])
        )

    def index_expr(self, index: Poly) -> ir.Index:
        """Returns an index as an expression of the loop variables."""
        return index.expr(self.names)

    @property
    def stage_number(self) -> int | None:
        """The number of the stage that is being lowered."""
        return self.stage.number if self.stage is not None else None

    def let(self, value: ir.Expr, depth: int) -> Value:
        """Defines a vector with an expression's value; returns the vector.

        Equal expressions in the innermost loop share one vector.

        Args:
            value: the expression.
            depth: number of the innermost loop level that changes the value.
        """
        memo = self.chain[-1].memo
        if value not in memo:
            memo[value] = self.define(value, depth)
        return memo[value]

    def define(self, value: ir.Expr, depth: int) -> Value:
        """Defines a new vector with the value of an expression in the innermost loop.

        A load must use this method and not `let`, because a store may come between two equal loads.
        """
        name = f"v{next(self.serial)}"
        self.chain[-1].body.append(ir.Let(name, value.kind, value, stage=self.stage_number))
        return Value(ir.Var(name, value.kind), depth, len(self.chain) - 1)

    def read(self, tensor: Tensor, indices: Sequence[Index]) -> Value:
        """Returns an element of a tensor, loaded from the tensor's buffer or computed in place."""
        key = (
            id(tensor),
            tuple(item.expr if isinstance(item, Value) else item for item in indices),
        )
        return self.memoize(key, lambda: self._load_or_compute(tensor, indices))

    def _load_or_compute(self, tensor: Tensor, indices: Sequence[Index]) -> Value:
        if id(tensor) in self.buffers:
            return emit_load(self, tensor, indices)
        found = self.compute(tensor, indices)
        if id(tensor) in self.kept and self._is_row_element(found, indices):
            assert isinstance(found.expr, ir.Var)
            self.row_values[found.expr.name] = id(tensor)
        return found

    def _is_row_element(self, value: Value, indices: Sequence[Index]) -> bool:
        """Returns whether the vector loop computes the elements of one row, with `indices`."""
        polys = [item for item in indices if isinstance(item, Poly)]
        if self.vector is None or self.joined is not None or value.tag not in ("f32", "f64"):
            return False
        if not polys or len(polys) < len(indices) or polys[-1] != Poly.variable(self.vector):
            return False
        depth, used = self.depth_of(frozenset({self.vector})), loop_variables_in(polys[:-1])
        return self.vector not in used and self.depth_of(used) < depth <= value.depth

    def memoize(self, key: tuple[int, tuple[object, ...]], lower: Callable[[], Value]) -> Value:
        """Returns the cached value of an element; calls `lower` if there is none.

        The value is cached on the loop level that defines it. If the value depends on
        split loops, it is valid only in the current pieces of these loops.
        """
        for scope in self.chain:
            if key in scope.memo:
                return scope.memo[key]
        found = lower()
        used = loop_variables_in(key[1])
        level = max(found.level, self.depth_of(used & self.ranges.known.keys()))
        return self.chain[level].memo.setdefault(key, found)

    def hoist_reductions(
        self, node: Expr, environment: Mapping[int, Index], inner: frozenset[int]
    ) -> None:
        """Computes those reductions in an expression that are constant in the loops `inner`.

        The caller emits the loops `inner` afterwards, so that the reductions run before these
        loops.
        """
        if isinstance(node, Read):
            known = polys_of(environment)
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
                self.hoist_reductions(
                    body, dict(zip((a.serial for a in tensor.op.axis), polys, strict=True)), inner
                )
            elif not any(item.variables & inner for item in polys):
                self.read(tensor, polys)
            return
        holds = (
            self._decide_condition(node.condition, environment)
            if isinstance(node, Select)
            else None
        )
        if isinstance(node, Select) and holds is not None:
            self.hoist_reductions(node.a if holds else node.b, environment, inner)
            return
        self.inside_select += isinstance(node, Select)
        for child in node.children:
            self.hoist_reductions(child, environment, inner)
        self.inside_select -= isinstance(node, Select)

    def _decide_condition(self, condition: Expr, environment: Mapping[int, Index]) -> bool | None:
        """Decides a condition for the current ranges of the loops.

        Returns True if the condition always holds, False if it never holds, and None in all other
        cases.
        """
        return self.ranges.decide_condition(condition, polys_of(environment))

    def compute(self, tensor: Tensor, indices: Sequence[Index]) -> Value:
        """Computes an element of a stage from its body, even if the stage is also stored."""
        before, self.stage = self.stage, tensor.op
        try:
            return self._lower_stage(tensor, indices)
        finally:
            self.stage = before

    def _lower_stage(self, tensor: Tensor, indices: Sequence[Index]) -> Value:
        op = tensor.op
        if not op.body:
            raise MissingBuffer(tensor)
        body = op.body[tensor.value_index]
        if isinstance(body, Reduce):
            serials = [axis.serial for axis in op.axis]
            found = lower_reduction(self, tensor, body, dict(zip(serials, indices, strict=True)))
            return self.round_to_device(tensor, found)
        if id(tensor) in self.slow and self.is_recomputed(indices):
            raise MissingBuffer(tensor)
        environment = dict(zip((axis.serial for axis in op.axis), indices, strict=True))
        return self.round_to_device(tensor, self.lower_expression(body, environment))

    def round_to_device(self, tensor: Tensor, found: Value) -> Value:
        """Rounds a value to its half-precision dtype if the option ``rounding`` is ``device``."""
        if self.options.rounding == "device" and tensor.dtype in ("float16", "bfloat16"):
            return self.let(vectors.cast("float32", tensor.dtype, found.expr), found.depth)
        return found

    def is_recomputed(self, indices: Sequence[Index]) -> bool:
        """Returns whether an enclosing loop would compute the same element in each iteration.

        Such a loop changes none of the element's `indices`, but contains a loop that changes some
        of these indices.
        """
        if not all(isinstance(item, Poly) for item in indices):
            return False
        used = loop_variables_in(indices)
        depth = self.depth_of(used)
        return depth > 0 and not self.variables_down_to(depth) <= used

    def compute_stored_element(self, tensor: Tensor, indices: Sequence[Poly]) -> Value:
        """Computes a tensor element that the nest will store.

        Other expressions in the nest that read this element use the computed value.
        """
        key = (id(tensor), tuple(indices))
        return self.memoize(key, lambda: self.compute(tensor, indices))

    def lower_expression(self, node: Expr, environment: Mapping[int, Index]) -> Value:
        """Lowers an expression to a vector."""
        tag = vectors.tag_of(node.dtype) if node.dtype != "handle" else ""
        if isinstance(node, Const):
            return Value(vectors.literal(self._constant(node), tag))
        if isinstance(node, Var) and is_float(node.dtype):
            return self._lower_scalar(node)
        if isinstance(node, (IterVar, Var)):
            index = self.lower_index(node, environment)
            return self.index_vector(index, tag)
        if isinstance(node, Read):
            found = emit_flat_load(self, node, environment)
            if found is not None:
                return found
            return self.read(
                node.tensor, [self.lower_index(item, environment) for item in node.indices]
            )
        if isinstance(node, Cast):
            inner = self.lower_expression(node.value, environment)
            value = vectors.cast(node.value.dtype, node.dtype, inner.expr)
            return self.let(value, inner.depth) if value != inner.expr else inner
        if isinstance(node, Select):
            holds = self._decide_condition(node.condition, environment)
            if holds is not None:
                return self.lower_expression(node.a if holds else node.b, environment)
        elif tag == vectors.MASK:
            holds = self._decide_condition(node, environment)
            if holds is not None:
                return Value(vectors.literal(holds, tag))
        quotient = lower_reciprocal_product(self, node, environment)
        if quotient is not None:
            return quotient
        self.inside_select += isinstance(node, Select)
        parts = [self.lower_expression(child, environment) for child in node.children]
        self.inside_select -= isinstance(node, Select)
        depth = max(part.depth for part in parts)
        operands = tuple(part.expr for part in parts)
        if isinstance(node, Select):
            return self.let(vectors.select(tag, *operands), depth)
        if isinstance(node, Binary):
            return lower_binary(self, node, tag, *parts)
        if isinstance(node, Call):
            name = self.short.get(id(node), node.name) if parts[0].tag == "f32" else node.name
            return self.let(vectors.function(name, node.args[0].dtype, operands), depth)
        raise CompileError(f"{node} may only be the whole body of a stage")

    def _lower_scalar(self, node: Var) -> Value:
        """Returns a scalar argument of the kernel as a vector with equal lanes.

        The caller passes the argument as float64. The generated code rounds it to the dtype of the
        arithmetic that uses it.
        """
        narrow = node.dtype in ("float16", "bfloat16")
        dtype = "float32" if narrow and self.options.rounding != "device" else node.dtype
        bits = ir.Var(self.names[node.serial])
        wide = ir.Splat("f64", ir.call("scalar_of", bits, kind="double"))
        return self.let(vectors.cast("float64", dtype, wide), 0)

    def _constant(self, node: Const) -> float | int | bool:
        """Returns a constant, rounded to its dtype if the option ``rounding`` is ``device``."""
        if self.options.rounding == "device" and node.dtype in ("float16", "bfloat16"):
            return float(np.asarray(node.value).astype(dtype_of(node.dtype).numpy))
        return node.value

    def lower_index(self, node: Expr, environment: Mapping[int, Index]) -> Index:
        """Lowers an index of a tensor to a polynomial if possible, else to an integer vector."""
        known = polys_of(environment)
        found = index_poly(node, known)
        if found is not None:
            return found
        if isinstance(node, IterVar):
            return environment[node.serial]
        parts = division_operands(node, known)
        quotient = None if parts is None else self.ranges.quotient(*parts)
        if isinstance(node, Binary) and parts is not None and quotient is not None:
            return quotient if node.op == "floordiv" else parts[0] - quotient * parts[1]
        value = self.lower_expression(node, environment)
        return self.let(vectors.cast(node.dtype, "int64", value.expr), value.depth)

    def index_vector(self, index: Index, tag: str) -> Value:
        """Returns an index as a vector of kind `tag`."""
        if isinstance(index, Value):
            return self.let(vectors.convert(index.expr, tag), index.depth)
        value: ir.Expr = ir.Splat("i64", self.index_expr(index))
        step = index.coefficient(self.vector) if self.vector is not None else ZERO
        if step is None:
            raise CompileError("an index grows with the square of a loop")
        if step.terms:
            lanes = ir.call("iota", kind="i64", prefix="i64")
            steps = ir.Op("mul", (lanes, ir.Splat("i64", self.index_expr(step))), "i64")
            value = ir.Op("add", (value, steps), "i64")
        return self.let(vectors.convert(value, tag), self.depth_of(index.variables))

    # memory

    def address(self, buffer: TensorBuffer, indices: Sequence[Index]) -> Poly:
        address = ZERO
        for index, stride in zip(indices, buffer.strides, strict=True):
            assert isinstance(index, Poly)
            address = address + index * stride
        for first, stride in zip(buffer.origin, buffer.strides, strict=False):
            address = address - first * stride
        return address

    def store(
        self,
        tensor: Tensor,
        indices: Sequence[Poly],
        value: Value,
        *,
        stream: ir.Expr | None = None,
    ) -> None:
        """Stores an element of a tensor.

        Args:
            tensor, indices: the tensor, and the indices of the element to store.
            value: the vector to store.
            stream: condition for non-temporal stores; None for none.
        """
        buffer = self.targets[id(tensor)]
        address = self.address(buffer, indices)
        step = address.coefficient(self.vector) if self.vector is not None else ZERO
        stored = ir.Store(
            vectors.memory_prefix(buffer.dtype),
            buffer.pointer(self.index_expr(address)),
            value.expr,
            self.index_expr(step or ZERO),
            stream=stream if step == ONE else None,
            stage=tensor.op.number,
        )
        self.chain[-1].body.append(stored)
