"""Handles cache lines that two rows have in common, when rows use non-temporal (streaming) stores.

A partial store to such a line would first read the line and stall the streaming stores. For rows
of 4 KiB this would cost a fifth of the time. Instead, the end of a row stays in a register until
the start of the next row is computed. One streaming store then writes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import TensorBuffer, Value
from tbe_impl.codegen.planning.polynomials import ONE, Poly
from tbe_impl.codegen.reductions import row_prefix

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def emit_edge_store(writer: Lowering, buffer: TensorBuffer, address: Poly, value: Value) -> str:
    """Returns a statement that stores the first or last elements of a row.

    Returns "" if the rows are not contiguous.

    Args:
        writer: lowering of the vector loop along the row; `writer.count` elements are stored.
        buffer, address: destination.
        value: the vector; only its first `writer.count` lanes are stored.
    """
    row = _contiguous_rows(writer, address)
    if row is None or not writer.count.endswith(("_head", "_rest")):
        return ""
    serial, length = row
    prefix, count = vectors.memory_prefix(buffer.dtype), writer.count
    place, edge = f"{buffer.name} + {writer.index_text(address)}", f"{buffer.name}_edge"
    number = writer.index_text(Poly.variable(serial))
    begin, end = writer.parts.get(serial, ("0", ""))
    room = f"{vectors.c_type(value.tag)} {edge} = {{0}};"
    if room not in writer.chain[0].lines:
        writer.chain[0].lines.insert(0, room)
    alone = f"{prefix}_store_part({place}, {value.text}, {count});"
    whole = f"stream && {length} % LANES == 0"
    if count.endswith("_rest"):
        is_last = f"{number} + 1 < {end or writer.index_text(writer.extents[serial])}"
        return f"if ({whole} && {is_last}) {edge} = {value.text}; else {alone}"
    both = f"{row_prefix(value.tag)}_joined({edge}, {value.text}, {count})"
    return (
        f"if ({whole} && {number} > {begin}) "
        f"{prefix}_stream({place} + {count} - LANES, {both}); else {alone}"
    )


def _contiguous_rows(writer: Lowering, address: Poly) -> tuple[int, int] | None:
    """Returns the enclosing loop over rows and the row length; None unless rows are contiguous."""
    inner = writer.vector
    if inner is None or writer.joined is not None or len(writer.chain) < 2:
        return None
    around, length = writer.chain[-2], writer.extents[inner].constant
    if (
        not around.is_sequential
        or length is None
        or inner in writer.parts
        or inner in writer.ranges.known
    ):
        return None
    (serial,) = around.variables
    whole = address.coefficient(inner) == ONE and address.coefficient(serial) == Poly.from_int(
        length
    )
    return (serial, length) if whole else None
