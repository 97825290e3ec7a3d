"""Builds block loops, fused loops, and unroll-and-jam loops with loops for the remainder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.loop_levels import (
    THREAD_RANGE,
    WHOLE_RANGE,
    LoopRange,
    LoopScope,
)
from tbe_impl.codegen.passes.loop_coalescing import trip_count
from tbe_impl.codegen.planning.loop_orders import Level

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def range_of(inside: Lowering, serial: int) -> LoopRange:
    """Returns the range of the loop index whose `IterVar.serial` is `serial`.

    In a parallel loop, the result is the range of one thread. Inside block loops, the result is the
    range of the current block.
    """
    return inside.parts.get(serial, WHOLE_RANGE)


def end_of(inside: Lowering, serial: int) -> ir.Expr:
    """Returns the exclusive end of the range that `range_of` returns for `serial`."""
    return range_of(inside, serial).end or inside.index_expr(inside.extents[serial])


def emit_level(
    inside: Lowering, level: Level, body: Callable[[], None], *, shared: bool = False
) -> None:
    """Emits nested loops over the indices of a level, or over the blocks of these indices.

    Loop coalescing later turns the nested loops into one loop. If `shared`, the threads share the
    iterations of the coalesced loop.
    """
    saved, heads = dict(inside.parts), []
    for serial, step in level.parts:
        name, begin, limit = (
            inside.names[serial],
            range_of(inside, serial).begin,
            end_of(inside, serial),
        )
        starts: tuple[ir.Stmt, ...] = ()
        if step > 1:
            name = f"{name}_block{step}"
            behind = ir.op("add", ir.Var(name), ir.Int(step))
            starts = (ir.Let(f"{name}_end", ir.INDEX, ir.call("least", behind, limit)),)
            inside.parts[serial] = LoopRange(ir.Var(name), ir.Var(f"{name}_end"), step)
        heads.append((ir.For(name, begin, limit, (), ir.Int(step)), starts))
    scope = LoopScope(level.final_variables, level.variables - level.final_variables)
    inner = inside.lower_body(scope, body)
    *outer, (loop, starts) = heads
    loop = replace(loop, body=(*starts, *inner))
    for before, starts in reversed(outer):
        loop = replace(before, body=(*starts, loop))
    inside.chain[-1].body.append(
        replace(loop, unroll=level.unroll, inner=len(outer), is_shared=shared and bool(outer))
    )
    inside.parts = saved


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
    if shared and not others:
        inside.parts[serial] = THREAD_RANGE
    if step > 1 or others:
        emit_level(inside, level, open_rest, shared=shared)
        return
    for piece in inside.pieces(serial, range_of(inside, serial)):
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
        trip_count(range_of(inside, serial).begin, end_of(inside, serial), step)
        for serial, step in level.parts
    )
    return ir.fold("mul", counts)
