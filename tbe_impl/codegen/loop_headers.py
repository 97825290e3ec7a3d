"""Builds block loops, fused loops, and unroll-and-jam loops with loops for the remainder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.loop_levels import LoopScope
from tbe_impl.codegen.passes.loop_coalescing import THREAD_BEGIN, THREAD_END, trip_count
from tbe_impl.codegen.planning.loop_orders import Level

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def restrict(
    inside: Lowering, serial: int, begin: ir.Expr, end: ir.Expr, body: Sequence[ir.Stmt]
) -> ir.Restrict:
    """Returns statements in which the loops over an index are restricted to begin ≤ index < end."""
    limit = inside.index_expr(inside.extents[serial])
    return ir.Restrict(inside.names[serial], begin, end, limit, tuple(body))


def restrict_to_thread(
    inside: Lowering, level: Level, body: Sequence[ir.Stmt]
) -> tuple[ir.Stmt, ...]:
    """Returns statements in which a parallel loop has the range of one thread.

    For a fused loop, loop coalescing computes this range.
    """
    if len(level.parts) != 1:
        return tuple(body)
    return (restrict(inside, level.parts[0][0], THREAD_BEGIN, THREAD_END, body),)


def emit_level(
    inside: Lowering, level: Level, body: Callable[[], None], *, shared: bool = False
) -> None:
    """Emits nested loops over the indices of a level, or over the blocks of these indices.

    Loop coalescing later turns the nested loops into one loop. If `shared`, the threads share the
    iterations of the coalesced loop.
    """
    saved = dict(inside.block_steps)
    inside.block_steps |= {serial: step for serial, step in level.parts if step > 1}
    scope = LoopScope(level.final_variables, level.variables - level.final_variables)
    found = inside.lower_body(scope, body)
    inside.block_steps = saved
    inner = len(level.parts) - 1
    for number, (serial, step) in reversed([*enumerate(level.parts)]):
        name, limit = inside.names[serial], inside.index_expr(inside.extents[serial])
        found = (
            ir.For(
                f"{name}_block{step}" if step > 1 else name,
                ir.ZERO,
                limit,
                found,
                ir.Int(step),
                unroll=0 if number else level.unroll,
                over=name if step > 1 else "",
                inner=0 if number else inner,
                is_shared=shared and inner > number == 0,
            ),
        )
    inside.chain[-1].body += found


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

    ((serial, step), *others) = level.parts
    if step > 1 or others:
        emit_level(inside, level, open_rest, shared=shared)
        return
    for piece in inside.pieces(serial):
        with inside.restrict_to(piece):
            inside.emit_serial_piece(piece, open_rest, level.unroll)


def parallel_trip_count(inside: Lowering, level: Level) -> ir.Expr:
    """Returns the trip count of the parallel loop.

    If the loop changes only one index, the result is the extent of this index. This also holds for
    a block loop, which steps over several values at once.
    """
    if len(level.parts) == 1:
        return inside.index_expr(inside.extents[level.parts[0][0]])
    if not level.parts:
        return ir.ONE
    counts = (
        trip_count(ir.ZERO, inside.index_expr(inside.extents[serial]), step)
        for serial, step in level.parts
    )
    return ir.fold("mul", counts)
