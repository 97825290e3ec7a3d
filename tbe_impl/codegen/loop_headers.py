"""Emits the headers of blocked, fused and unrolled loops, and the loops over their remainders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen.loop_levels import LoopScope, UnrollAndJam
from tbe_impl.codegen.planning.index_ranges import Piece
from tbe_impl.codegen.planning.loop_orders import Level
from tbe_impl.codegen.planning.polynomials import Poly

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def range_of(inside: Lowering, serial: int) -> tuple[str, str | None]:
    """Returns the first value and the exclusive end of an index as C text.

    In a parallel loop, this is the range of one thread. Inside block loops, it is the range of the
    current block. The end is None if it is the extent of the index.
    """
    return inside.parts.get(serial, ("0", None))


def trip_count(inside: Lowering, serial: int, step: int) -> str:
    """Returns the trip count of a loop that advances by `step`, as a C expression."""
    begin, end = range_of(inside, serial)
    limit = end or inside.index_text(inside.extents[serial])
    steps = f"({limit} - {begin})" if begin != "0" else f"({limit})"
    return f"(({steps} + {step - 1}) / {step})" if step > 1 else steps


def emit_block_loop(inside: Lowering, level: Level, body: Callable[[], None]) -> None:
    """Emits a loop over the blocks of an index; `body` emits the loop over one block's elements."""
    ((serial, step),) = level.parts
    saved = dict(inside.parts)
    begin, end = range_of(inside, serial)
    limit = end or inside.index_text(inside.extents[serial])
    name, lines = _open_block(inside, serial, step)
    head = f"for (int64_t {name} = {begin}; {name} < {limit}; {name} += {step}) {{"
    _emit_loop(inside, level, head, lines, body)
    inside.parts = saved


def emit_fused_loop(
    inside: Lowering, level: Level, body: Callable[[], None], *, shared: bool = False
) -> None:
    """Emits one loop over several indices or over their blocks.

    If `shared`, the loop runs from the C variable ``begin`` to ``end``: the range of one thread.
    """
    saved = dict(inside.parts)
    counts = [trip_count(inside, serial, step) for serial, step in level.parts]
    fused = "_".join(inside.names[serial] for serial, _ in level.parts)
    lines, rest = [], fused
    for number, (serial, step) in enumerate(level.parts):
        behind = "*".join(counts[number + 1 :])
        value = f"{rest} / ({behind})" if behind else rest
        rest = f"{fused} % ({behind})"
        begin, _ = range_of(inside, serial)
        name, end = _open_block(inside, serial, step) if step > 1 else (inside.names[serial], [])
        value = f"({value})*{step}" if step > 1 else value
        lines += [f"const int64_t {name} = {f'{begin} + ' if begin != '0' else ''}{value};", *end]
    first, last = ("begin", "end") if shared else ("0", "*".join(counts))
    _emit_loop(
        inside,
        level,
        f"for (int64_t {fused} = {first}; {fused} < {last}; {fused}++) {{",
        lines,
        body,
    )
    inside.parts = saved


def _open_block(inside: Lowering, serial: int, step: int) -> tuple[str, list[str]]:
    """Restricts the range of an index to one block of a block loop.

    Returns the C variable of the block's first index, and the statements that compute the block's
    end.
    """
    _, end = range_of(inside, serial)
    name = f"{inside.names[serial]}_block{step}"
    inside.parts[serial] = (name, f"{name}_end")
    limit = end or inside.index_text(inside.extents[serial])
    return name, [f"const int64_t {name}_end = least({name} + {step}, {limit});"]


def _emit_loop(
    inside: Lowering, level: Level, head: str, lines: Sequence[str], body: Callable[[], None]
) -> None:
    """Emits a loop with the C header `head`; its body is `lines`, then what `body` emits."""
    parent = inside.chain[-1]
    scope = LoopScope(level.final_variables, level.variables - level.final_variables, [*lines])
    inside.chain.append(scope)
    body()
    inside.chain.pop()
    parent.lines += [f"#pragma GCC unroll {level.unroll}"] if level.unroll else []
    parent.lines += [head, scope.lines, "}"]


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
        inside.parts[serial] = ("begin", "end")
    if step > 1:
        emit_block_loop(inside, level, open_rest)
        return
    begin, end = range_of(inside, serial)
    for piece in inside.pieces(serial, begin, end):
        with inside.restrict_to(piece):
            emit_serial_steps(inside, piece, level, open_rest)


def emit_serial_steps(
    inside: Lowering, piece: Piece, level: Level, body: Callable[[], None]
) -> LoopScope:
    """Emits one `Piece` of a split loop as a sequential loop with the unroll factor of `level`."""
    scope = inside.emit_serial_piece(piece, body)
    if level.unroll:
        # index -3 is directly before the loop, after the statements hoisted out of its body
        inside.chain[-1].lines.insert(-3, f"#pragma GCC unroll {level.unroll}")
    return scope


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
    lines: list[object] = [f"int64_t {name} = {piece.begin};"]
    lines += [
        f"for (; {name} + {steps} <= {piece.end}; {name} += {steps}) {{",
        scopes[0].lines,
        "}",
    ]
    lines += [f"for (; {name} < {piece.end}; {name}++) {{", scopes[1].lines, "}"]
    parent.lines += ["{", lines, "}"]


def parallel_trip_count(inside: Lowering, level: Level) -> str:
    """Returns the trip count of the parallel loop, as a C expression.

    For a loop over one index, this is the extent of the index, even for a block loop.
    """
    if len(level.parts) == 1:
        return inside.index_text(inside.extents[level.parts[0][0]])
    return (
        "*".join(trip_count(inside, serial, step) for serial, step in level.parts) or "INT64_C(1)"
    )
