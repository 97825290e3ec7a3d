"""Cache lines shared by two rows, where rows are written by non-temporal (streaming) stores.

Written in two pieces it would have to be read first, and all that is written past the caches waits for that: a fifth of the time
of rows of 4 KiB. So the end of a row stays in a register until the beginning of the next is there, and both are written at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import Buffer, Value
from tbe_impl.codegen.polynomials import ONE, Poly
from tbe_impl.codegen.reductions import row_kind

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Elaborator


def stored_at_edge(writer: Elaborator, buffer: Buffer, address: Poly, value: Value) -> str:
    """A statement that writes the first or the last elements of a row; empty where its rows do not follow one another.

    Args:
        writer: what writes the loops; its innermost one goes along the row, and `writer.count` of its steps are left.
        buffer, address: where to.
        value: what; only so many of its lanes count.
    """
    row = _row_of(writer, address)
    if row is None or not writer.count.endswith(("_head", "_rest")):
        return ""
    serial, length = row
    prefix, count = vectors.memory_of(buffer.dtype), writer.count
    place, edge = f"{buffer.name} + {writer.text(address)}", f"{buffer.name}_edge"
    number = writer.text(Poly.variable(serial))
    begin, end = writer.parts.get(serial, ("0", ""))
    room = f"{vectors.c_type(value.tag)} {edge} = {{0}};"
    if room not in writer.chain[0].lines:
        writer.chain[0].lines.insert(0, room)
    alone = f"{prefix}_store_part({place}, {value.text}, {count});"
    whole = f"stream && {length} % LANES == 0"
    if count.endswith("_rest"):
        is_last = f"{number} + 1 < {end or writer.text(writer.extents[serial])}"
        return f"if ({whole} && {is_last}) {edge} = {value.text}; else {alone}"
    both = f"{row_kind(value.tag)}_joined({edge}, {value.text}, {count})"
    return f"if ({whole} && {number} > {begin}) {prefix}_stream({place} + {count} - LANES, {both}); else {alone}"


def _row_of(writer: Elaborator, address: Poly) -> tuple[int, int] | None:
    """The loop around that goes from row to row, and how long a row is; None unless each row begins where the one before ends."""
    inner = writer.vector
    if inner is None or writer.joined is not None or len(writer.chain) < 2:
        return None
    around, length = writer.chain[-2], writer.extents[inner].constant
    if (
        not around.in_turn
        or length is None
        or inner in writer.parts
        or inner in writer.ranges.known
    ):
        return None
    (serial,) = around.variables
    whole = address.coefficient(inner) == ONE and address.coefficient(serial) == Poly.of(length)
    return (serial, length) if whole else None
