"""Handles cache lines that two rows have in common, when rows use non-temporal (streaming) stores.

A partial store to such a line would first read the line and stall the streaming stores. For rows
of 4 KiB this would cost a fifth of the time. Instead, the end of a row stays in a register until
the start of the next row is computed. One streaming store then writes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.loop_levels import WHOLE_RANGE, TensorBuffer, Value
from tbe_impl.codegen.planning.polynomials import ONE, Poly
from tbe_impl.codegen.reductions import row_prefix

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def emit_edge_store(
    writer: Lowering, buffer: TensorBuffer, address: Poly, value: Value, alone: ir.Store
) -> ir.Stmt:
    """Returns a statement that stores the first or last elements of a row.

    Args:
        writer: lowering of the vector loop along the row; `writer.partial` elements are stored.
        buffer, address: destination.
        value: the vector.
        alone: the partial store of these elements; also the result if rows are not contiguous.
    """
    row, partial = _contiguous_rows(writer, address), writer.partial
    if row is None or partial is None:
        return alone
    serial, length = row
    edge = ir.Var(f"{buffer.name}_edge", value.tag)
    number = writer.index_expr(Poly.variable(serial))
    covered = writer.parts.get(serial, WHOLE_RANGE)
    room = ir.Let(edge.name, value.tag, ir.Zero(value.tag), is_mutable=True)
    if room not in writer.chain[0].body:
        writer.chain[0].body.insert(0, room)
    left_over = ir.op("mod", ir.Int(length), ir.LANES)
    whole = [ir.Var("stream", ir.FLAG), ir.op("eq", left_over, ir.Int(0), kind=ir.FLAG)]
    store: ir.Stmt
    if not partial.is_head:
        end = covered.end or writer.index_expr(writer.extents[serial])
        is_inner = ir.op("lt", ir.op("add", number, ir.Int(1)), end, kind=ir.FLAG)
        store = ir.Assign(edge, value.expr)
    else:
        is_inner = ir.op("gt", number, covered.begin, kind=ir.FLAG)
        place = buffer.pointer(writer.index_expr(address), partial.count)
        start = ir.op("sub", place, ir.LANES)
        both = ir.Call(
            "joined", (edge, value.expr, partial.count), value.tag, row_prefix(value.tag)
        )
        store = ir.Evaluate(ir.call("stream", start, both, prefix=alone.memory))
    condition = ir.every([*whole, is_inner])
    assert condition is not None
    own = ir.Store(alone.memory, alone.place, alone.value, alone.stride, alone.count)
    return ir.If(condition, (store,), (own,), alone.stage)


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
