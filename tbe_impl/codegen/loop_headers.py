"""Emits loop headers: blocked loops, their remainders, and collapsed loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen.index_ranges import Piece
from tbe_impl.codegen.loop_levels import Scope, Together
from tbe_impl.codegen.loop_orders import Level
from tbe_impl.codegen.polynomials import Poly

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Elaborator


def range_of(inside: Elaborator, serial: int) -> tuple[str, str | None]:
    """First step of an index in the loops that are open, and the one behind its last; None for the end of all."""
    return inside.parts.get(serial, ("0", None))


def count_of(inside: Elaborator, serial: int, step: int) -> str:
    """How many steps a loop takes."""
    begin, end = range_of(inside, serial)
    limit = end or inside.text(inside.extents[serial])
    steps = f"({limit} - {begin})" if begin != "0" else f"({limit})"
    return f"(({steps} + {step - 1}) / {step})" if step > 1 else steps


def block_loop(inside: Elaborator, level: Level, body: Callable[[], None]) -> None:
    """A loop from block to block of one index; the loop over its steps is one of those that `body` opens."""
    ((serial, step),) = level.parts
    saved = dict(inside.parts)
    begin, end = range_of(inside, serial)
    limit = end or inside.text(inside.extents[serial])
    name, lines = _block(inside, serial, step)
    head = f"for (int64_t {name} = {begin}; {name} < {limit}; {name} += {step}) {{"
    _write(inside, level, head, lines, body)
    inside.parts = saved


def fused_loop(
    inside: Elaborator, level: Level, body: Callable[[], None], *, shared: bool = False
) -> None:
    """One loop over the steps, or the blocks, of several indices; from ``begin`` to ``end`` where threads share it."""
    saved = dict(inside.parts)
    counts = [count_of(inside, serial, step) for serial, step in level.parts]
    fused = "_".join(inside.names[serial] for serial, _ in level.parts)
    lines, rest = [], fused
    for number, (serial, step) in enumerate(level.parts):
        behind = "*".join(counts[number + 1 :])
        value = f"{rest} / ({behind})" if behind else rest
        rest = f"{fused} % ({behind})"
        begin, _ = range_of(inside, serial)
        name, end = _block(inside, serial, step) if step > 1 else (inside.names[serial], [])
        value = f"({value})*{step}" if step > 1 else value
        lines += [f"const int64_t {name} = {f'{begin} + ' if begin != '0' else ''}{value};", *end]
    first, last = ("begin", "end") if shared else ("0", "*".join(counts))
    _write(
        inside,
        level,
        f"for (int64_t {fused} = {first}; {fused} < {last}; {fused}++) {{",
        lines,
        body,
    )
    inside.parts = saved


def _block(inside: Elaborator, serial: int, step: int) -> tuple[str, list[str]]:
    """What the first step of a block is called, and where it ends; loops inside stay in it."""
    _, end = range_of(inside, serial)
    name = f"{inside.names[serial]}_block{step}"
    inside.parts[serial] = (name, f"{name}_end")
    limit = end or inside.text(inside.extents[serial])
    return name, [f"const int64_t {name}_end = least({name} + {step}, {limit});"]


def _write(
    inside: Elaborator, level: Level, head: str, lines: Sequence[str], body: Callable[[], None]
) -> None:
    """A loop whose inside begins with some lines."""
    parent = inside.chain[-1]
    scope = Scope(level.settled, level.variables - level.settled, [*lines])
    inside.chain.append(scope)
    body()
    inside.chain.pop()
    parent.lines += [f"#pragma GCC unroll {level.unroll}"] if level.unroll else []
    parent.lines += [head, scope.lines, "}"]


def open_levels(
    inside: Elaborator, levels: Sequence[Level], body: Callable[[], None], *, shared: bool = False
) -> None:
    """Opens loops inside of each other, and writes `body` in the innermost; threads may share the outermost."""
    if not levels:
        body()
        return
    level, *rest = levels

    def further() -> None:
        open_levels(inside, rest, body)

    if len(level.parts) > 1:
        fused_loop(inside, level, further, shared=shared)
        return
    ((serial, step),) = level.parts
    if shared:
        inside.parts[serial] = ("begin", "end")
    if step > 1:
        block_loop(inside, level, further)
        return
    begin, end = range_of(inside, serial)
    for piece in inside.pieces(serial, begin, end):
        with inside.within(piece):
            serial_steps(inside, piece, level, further)


def serial_steps(inside: Elaborator, piece: Piece, level: Level, body: Callable[[], None]) -> Scope:
    """The steps of a piece of a loop one after the other, as many at once as its level says."""
    scope = inside.serial_piece(piece, body)
    if level.unroll:
        # before the loop, behind what its body has put in front of it
        inside.chain[-1].lines.insert(-3, f"#pragma GCC unroll {level.unroll}")
    return scope


def steps_at_once(inside: Elaborator, piece: Piece, steps: int, body: Callable[[], None]) -> None:
    """The steps of a piece of a loop, several at once, and the rest one after the other."""
    parent, name = inside.chain[-1], inside.names[piece.serial]
    scopes = [Scope(frozenset({piece.serial})) for _ in range(2)]
    # in the rest as well, so that equal rows have equal sums
    inside.accumulators = max(1, inside.options.accumulators // steps)
    inside.together = Together(piece.serial, steps)
    inside.chain.append(scopes[0])
    with inside.ranges.within(piece.serial, piece.least, piece.behind - Poly.of(steps - 1)):
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


def parted_steps(inside: Elaborator, level: Level) -> str:
    """How many steps threads share: elements of an index, also where its loop runs over blocks, or steps of a fused loop."""
    if len(level.parts) == 1:
        return inside.text(inside.extents[level.parts[0][0]])
    return "*".join(count_of(inside, serial, step) for serial, step in level.parts) or "INT64_C(1)"
