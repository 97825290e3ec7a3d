"""Builds blocked, fused and unrolled loops, and the loops over their remainders."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.loop_levels import (
    THREAD_RANGE,
    WHOLE_RANGE,
    LoopRange,
    LoopScope,
    UnrollAndJam,
)
from tbe_impl.codegen.planning.index_ranges import Piece
from tbe_impl.codegen.planning.loop_orders import Level
from tbe_impl.codegen.planning.polynomials import Poly

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def range_of(inside: Lowering, serial: int) -> LoopRange:
    """Returns the range of an index.

    In a parallel loop, this is the range of one thread. Inside block loops, it is the range of the
    current block.
    """
    return inside.parts.get(serial, WHOLE_RANGE)


def end_of(inside: Lowering, serial: int) -> ir.Expr:
    """Returns the exclusive end of the range of an index."""
    return range_of(inside, serial).end or inside.index_expr(inside.extents[serial])


def trip_count(inside: Lowering, serial: int, step: int) -> ir.Expr:
    """Returns the trip count of a loop that advances by `step`."""
    begin, steps = range_of(inside, serial).begin, end_of(inside, serial)
    if begin != ir.ZERO:
        steps = ir.op("sub", steps, begin)
    return ir.op("div", ir.op("add", steps, ir.Int(step - 1)), ir.Int(step)) if step > 1 else steps


def _product(factors: Iterable[ir.Expr]) -> ir.Expr:
    return functools.reduce(lambda one, other: ir.op("mul", one, other), factors)


def emit_block_loop(inside: Lowering, level: Level, body: Callable[[], None]) -> None:
    """Emits a loop over the blocks of an index; `body` emits the loop over one block's elements."""
    ((serial, step),) = level.parts
    saved, begin, limit = (
        dict(inside.parts),
        range_of(inside, serial).begin,
        end_of(inside, serial),
    )
    name, start = _open_block(inside, serial, step)
    _emit_loop(inside, level, ir.For(name, begin, limit, (), ir.Int(step)), [start], body)
    inside.parts = saved


def emit_fused_loop(
    inside: Lowering, level: Level, body: Callable[[], None], *, shared: bool = False
) -> None:
    """Emits one loop over several indices or over their blocks.

    If `shared`, the loop runs over the range of one thread.
    """
    saved = dict(inside.parts)
    counts = [trip_count(inside, serial, step) for serial, step in level.parts]
    fused = "_".join(inside.names[serial] for serial, _ in level.parts)
    starts: list[ir.Stmt] = []
    rest: ir.Expr = ir.Var(fused)
    for number, (serial, step) in enumerate(level.parts):
        value = rest
        if counts[number + 1 :]:
            behind = _product(counts[number + 1 :])
            value, rest = ir.op("div", rest, behind), ir.op("mod", ir.Var(fused), behind)
        begin = range_of(inside, serial).begin
        name, end = inside.names[serial], None
        if step > 1:
            name, end = _open_block(inside, serial, step)
            value = ir.op("mul", value, ir.Int(step))
        if begin != ir.ZERO:
            value = ir.op("add", begin, value)
        starts += [ir.Let(name, ir.INDEX, value), *([end] if end is not None else [])]
    first, last = (ir.ZERO, _product(counts))
    loop = ir.For(fused, first, last, ())
    if shared:
        assert THREAD_RANGE.end is not None
        loop = ir.For(fused, THREAD_RANGE.begin, THREAD_RANGE.end, ())
    _emit_loop(inside, level, loop, starts, body)
    inside.parts = saved


def _open_block(inside: Lowering, serial: int, step: int) -> tuple[str, ir.Let]:
    """Restricts the range of an index to one block of a block loop.

    Returns the variable of the block's first index, and the statement that computes the block's
    end.
    """
    limit, name = end_of(inside, serial), f"{inside.names[serial]}_block{step}"
    end = ir.Var(f"{name}_end")
    inside.parts[serial] = LoopRange(ir.Var(name), end, step)
    behind = ir.op("add", ir.Var(name), ir.Int(step))
    return name, ir.Let(end.name, ir.INDEX, ir.call("least", behind, limit))


def _emit_loop(
    inside: Lowering,
    level: Level,
    loop: ir.For,
    starts: Sequence[ir.Stmt],
    body: Callable[[], None],
) -> None:
    """Emits `loop`; its body is `starts`, then what `body` emits."""
    parent = inside.chain[-1]
    scope = LoopScope(level.final_variables, level.variables - level.final_variables, [*starts])
    inside.chain.append(scope)
    body()
    inside.chain.pop()
    parent.body.append(
        ir.For(loop.name, loop.begin, loop.end, tuple(scope.body), loop.step, unroll=level.unroll)
    )


def open_levels(
    inside: Lowering, levels: Sequence[Level], body: Callable[[], None], *, shared: bool = False
) -> None:
    """Emits nested loops, with `body` in the innermost loop.

    If `shared`, the outermost loop is parallel.
    """
    if not levels:
        body()
        return
    level, *rest = levels

    def open_rest() -> None:
        open_levels(inside, rest, body)

    if len(level.parts) > 1:
        emit_fused_loop(inside, level, open_rest, shared=shared)
        return
    ((serial, step),) = level.parts
    if shared:
        inside.parts[serial] = THREAD_RANGE
    if step > 1:
        emit_block_loop(inside, level, open_rest)
        return
    for piece in inside.pieces(serial, range_of(inside, serial)):
        with inside.restrict_to(piece):
            inside.emit_serial_piece(piece, open_rest, level.unroll)


def emit_unroll_and_jam(
    inside: Lowering, piece: Piece, steps: int, body: Callable[[], None]
) -> None:
    """Emits one `Piece` of a split loop with unroll-and-jam, then a sequential remainder loop."""
    parent, name = inside.chain[-1], inside.names[piece.serial]
    scopes = [LoopScope(frozenset({piece.serial})) for _ in range(2)]
    # the remainder gets the same number of accumulators: equal rows must have bitwise equal sums
    inside.accumulators = max(1, inside.options.accumulators // steps)
    inside.together = UnrollAndJam(piece.serial, steps)
    inside.chain.append(scopes[0])
    with inside.ranges.restrict_to(
        piece.serial, piece.lower_bound, piece.upper_bound - Poly.from_int(steps - 1)
    ):
        body()
    inside.chain.pop()
    inside.together = inside.prefetch = None
    inside.chain.append(scopes[1])
    body()
    inside.chain.pop()
    inside.accumulators = inside.options.accumulators
    jammed, remainder = (tuple(scope.body) for scope in scopes)
    parent.body.append(
        ir.Block(
            (
                ir.Let(name, ir.INDEX, piece.begin, is_mutable=True),
                ir.For(name, None, piece.end, jammed, ir.Int(steps), ir.Int(steps)),
                ir.For(name, None, piece.end, remainder),
            )
        )
    )


def parallel_trip_count(inside: Lowering, level: Level) -> ir.Expr:
    """Returns the trip count of the parallel loop.

    For a loop over one index, this is the extent of the index, even for a block loop.
    """
    if len(level.parts) == 1:
        return inside.index_expr(inside.extents[level.parts[0][0]])
    if not level.parts:
        return ir.ONE
    return _product(trip_count(inside, serial, step) for serial, step in level.parts)
