"""Emits loads of stored tensors: contiguous vectors, broadcasts and gathers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import Index, MissingBuffer, Value, polys_of
from tbe_impl.codegen.planning.access_analysis import (
    element_count,
    flat_index,
    index_poly,
    size_poly,
)
from tbe_impl.codegen.planning.index_ranges import is_nonnegative
from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.expr import Read
from tbe_impl.dsl.tensor import Tensor

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


def emit_load(writer: Lowering, tensor: Tensor, indices: Sequence[Index]) -> Value:
    """Loads an element of a stored tensor."""
    buffer = writer.buffers[id(tensor)]
    if not all(isinstance(item, Poly) for item in indices):
        return _emit_clipped_gather(writer, tensor, indices)
    address = writer.address(buffer, indices)
    if _may_be_out_of_bounds(writer, tensor, address):
        return _emit_clipped_gather(writer, tensor, indices)
    return _emit_load_at_address(writer, tensor, address)


def emit_flat_load(writer: Lowering, node: Read, environment: Mapping[int, Index]) -> Value | None:
    """Loads an element whose indices are quotients and remainders of one flat index.

    Returns None if the indices have another form, or if the flat index may be out of bounds.

    Raises:
        MissingBuffer: the tensor is not stored.
    """
    flat = flat_index(node)
    place = None if flat is None else index_poly(flat, polys_of(environment))
    if place is None:
        return None
    if id(node.tensor) not in writer.buffers:
        raise MissingBuffer(node.tensor)
    if writer.buffers[id(node.tensor)].origin or _may_be_out_of_bounds(writer, node.tensor, place):
        return None
    return writer.memoize(
        (id(node.tensor), ("flat", place)),
        lambda: _emit_load_at_address(writer, node.tensor, place),
    )


def _emit_load_at_address(writer: Lowering, tensor: Tensor, address: Poly) -> Value:
    """Loads the element of a stored tensor at an address that is in bounds."""
    buffer, tag = writer.buffers[id(tensor)], vectors.tag_of(tensor.dtype)
    prefix = vectors.memory_prefix(buffer.dtype)
    depth = max(writer.depth_of(address.variables), buffer.depth)
    step = address.coefficient(writer.vector) if writer.vector is not None else ZERO
    place = buffer.pointer(writer.index_expr(address))
    return writer.define(ir.Load(tag, prefix, place, writer.index_expr(step or ZERO)), depth)


def _emit_clipped_gather(writer: Lowering, tensor: Tensor, indices: Sequence[Index]) -> Value:
    """Loads each lane from its own address; addresses out of bounds are clamped.

    The lanes with clamped addresses do not matter: the enclosing select does not choose them.
    """
    buffer, tag = writer.buffers[id(tensor)], vectors.tag_of(tensor.dtype)
    row = _emit_indexed_row_load(writer, tensor, indices)
    if row is not None:
        return row
    terms, depth = [], buffer.depth
    origin = buffer.origin or [ZERO] * len(indices)
    for index, first, stride in zip(indices, origin, buffer.strides, strict=True):
        vector = writer.index_vector(index, "i64")
        depth = max(depth, vector.depth)
        within = vector.expr
        if first != ZERO:
            within = ir.Op("sub", (within, ir.Splat("i64", writer.index_expr(first))), "i64")
        step = ir.Splat("i64", writer.index_expr(stride))
        terms.append(ir.Op("mul", (within, step), "i64"))
    total: ir.Expr = terms[0] if terms else ir.Splat("i64", ir.Int(0))
    for term in terms[1:]:
        total = ir.Op("add", (total, term), "i64")
    count = writer.index_expr(buffer.elements or element_count(tensor))
    place = ir.call("clip_index", total, count, kind="i64")
    prefix = vectors.memory_prefix(buffer.dtype)
    return writer.define(ir.Gather(tag, prefix, buffer.pointer(), place), depth)


def _emit_indexed_row_load(
    writer: Lowering, tensor: Tensor, indices: Sequence[Index]
) -> Value | None:
    """Loads a contiguous vector from a row; the row index may itself be loaded from memory.

    This is the access of an embedding lookup. Returns None if the read has another form.
    """
    buffer, vector = writer.buffers[id(tensor)], writer.vector
    *rows, last = indices
    if (
        buffer.origin
        or vector is None
        or not isinstance(last, Poly)
        or last.coefficient(vector) != ONE
    ):
        return None
    if buffer.strides[-1] != ONE or _may_pass_row_end(writer, tensor, last):
        return None
    terms, depth = [], writer.depth_of(last.variables)
    for index, most, stride in _row_terms(tensor, rows, buffer.strides):
        level = index.depth if isinstance(index, Value) else writer.depth_of(index.variables)
        if (
            level >= writer.depth_of(frozenset({vector}))
            or most is None
            or not is_nonnegative(most - ONE)
        ):
            return None  # the row varies across lanes, or may not exist
        number = writer.index_vector(index, "i64").expr
        row = writer.let(ir.call("clip_index", number, writer.index_expr(most), kind="i64"), level)
        terms.append(ir.op("mul", ir.Lane(row.expr, 0), writer.index_expr(stride)))
        depth = max(depth, level)
    prefix, tag = vectors.memory_prefix(buffer.dtype), vectors.tag_of(tensor.dtype)
    place = buffer.pointer(*terms, writer.index_expr(last))
    return writer.define(ir.Load(tag, prefix, place), depth)


def _row_terms(
    tensor: Tensor, rows: Sequence[Index], strides: Sequence[Poly]
) -> list[tuple[Index, Poly | None, Poly]]:
    """Returns the terms of a row's address as triples (index, exclusive upper bound, stride).

    If an index is loaded from memory, there is one term per index. Otherwise, there is one term for
    the whole address. The reason is that a merged loop has one variable for several axes, so that
    no index belongs to a single axis.
    """
    if any(isinstance(row, Value) for row in rows):
        return [
            (row, size_poly(size), stride)
            for row, size, stride in zip(rows, tensor.shape, strides, strict=False)
        ]
    place, size = ZERO, size_poly(tensor.shape[-1])
    for row, stride in zip(rows, strides, strict=False):
        assert isinstance(row, Poly)
        place = place + row * stride
    return [(place, None if size is None else element_count(tensor) - size + ONE, ONE)]


def _may_pass_row_end(writer: Lowering, tensor: Tensor, last: Poly) -> bool:
    """Returns whether an index into a row may be out of bounds."""
    bounds, size = (writer.joined or writer.ranges).bounds(last), size_poly(tensor.shape[-1])
    if bounds is None or size is None:
        return True
    return not is_nonnegative(bounds[0]) or not is_nonnegative(size - ONE - bounds[1])


def _may_be_out_of_bounds(writer: Lowering, tensor: Tensor, address: Poly) -> bool:
    """Returns whether an address may be out of bounds.

    If the range of the address is unknown, for example because of run-time sizes, returns True
    inside a select and False elsewhere.
    """
    bounds = (writer.joined or writer.ranges).bounds(address)
    if bounds is None or writer.buffers[id(tensor)].origin:
        return writer.inside_select > 0
    least, behind = bounds[0], element_count(tensor) - ONE - bounds[1]
    if is_nonnegative(least) and is_nonnegative(behind):
        return False
    known = least.constant is not None and behind.constant is not None
    return known or writer.inside_select > 0
