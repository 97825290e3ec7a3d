"""Emits row buffers: the first loop over a row computes values that later loops load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import Index, RowBuffer, Value, loop_variables_in
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering

CACHE_LINE_BYTES = 64
MAX_ROW_STEPS = 1 << 13
"""Maximum length of a row buffer; a few such buffers fit the stack and the L1 cache."""


def lower_row_element(writer: Lowering, tensor: Tensor, indices: Sequence[Index]) -> Value:
    """Lowers an element of a stage whose rows may get a row buffer.

    The first loop over a row computes the element and stores it in the buffer. Later loops over
    this row load it.
    """
    assert writer.vector is not None
    steps, tag = writer.extents[writer.vector].constant, vectors.tag_of(tensor.dtype)
    *outer, last = indices
    used = loop_variables_in(outer)
    row_fits = (
        writer.joined is None
        and steps is not None
        and steps <= MAX_ROW_STEPS
        and tag in ("f32", "f64")
    )
    depth = writer.depth_of(frozenset({writer.vector}))
    # if an outer index changes inside the row loop, each element belongs to a different row
    around = writer.depth_of(used) < depth
    whole = last == Poly.variable(writer.vector) and writer.vector not in used and around
    if not row_fits or not whole or not all(isinstance(item, Poly) for item in outer):
        return writer.compute(tensor, indices)
    assert steps is not None
    rows = writer.chain[writer.depth_of(used)].rows
    key = (id(tensor), tuple(outer))
    step = ir.Var(writer.names[writer.vector])
    row = rows.get(key)
    # a value hoisted out of an unfinished loop may precede the stores to its row buffer
    there = row is not None and row.loop != writer.vector and row.loop not in writer.unfinished
    if row is not None and there and row.steps == steps:
        writer.reused.add(id(tensor))
        place = ir.Pointer(ir.Var(row.name, "pointer"), (step,))
        return writer.define(ir.Load(tag, tag, place), depth)
    complete = writer.vector not in writer.ranges.known
    fills = (
        complete and writer.filling == writer.vector and (row is None or row.loop == writer.vector)
    )
    value = writer.compute(tensor, indices)
    if value.depth < depth:
        return value  # invariant along the row
    if fills:
        if row is None:
            row = rows[key] = RowBuffer(
                writer.vector,
                steps,
                f"row{next(writer.serial)}",
                "float" if tag == "f32" else "double",
            )
            writer.chain[0].body[:0] = _declare_row_buffer(row, writer.options.offset)
        place = ir.Pointer(ir.Var(row.name, "pointer"), (step,))
        writer.chain[depth].body.append(ir.Store(tag, place, value.expr))
    return value


def _declare_row_buffer(row: RowBuffer, offset: int) -> list[ir.Stmt]:
    """Declares a row buffer with the same alignment as the arrays."""
    if not offset:
        return [ir.Alloc(row.name, row.c, (ir.Int(row.steps),), CACHE_LINE_BYTES)]
    lines, behind = f"{row.name}_lines", offset // (4 if row.c == "float" else 8)
    start = ir.Pointer(ir.Var(lines, "pointer"), (ir.Int(behind),))
    return [
        ir.Alloc(lines, row.c, (ir.Int(row.steps + behind),), CACHE_LINE_BYTES),
        ir.Let(row.name, f"{row.c} *", start),
    ]
