"""Software prefetching: the last loop that reads a row from memory fetches a later row.

Before: ``for r: vector i: v = p[64 * r + i]; q[64 * r + i] = v``.
After: ``for r: vector i: prefetch p[64 * r + i + 1024]; v = p[64 * r + i]; q[64 * r + i] = v``.

A row buffer is memory from which later loops load a row. A loop that stores a row, in a result or
in a row buffer, is the last loop that reads this row from its tensor. Therefore, this loop
prefetches a later row. A loop that only reduces a row leaves the prefetch to a later loop. If a
nest has only one loop, and this loop uses non-temporal stores, the loop prefetches its own later
elements.

The pass pays on processors whose hardware prefetchers do not cross pages. On Zen 3, softmax without
this pass takes 50 % longer. On Zen 4 and 5, prefetches cost 5 to 10 %. Therefore, the function
``fetch`` of ``vector_types.h`` does nothing on these processors. Measured by `benchmarks.passes`.
The prefetch instruction loads into all cache levels. The instruction ``prefetchnta`` does not load
into all levels. On some processors, this instruction made loops with non-temporal stores up to 2.5
times slower.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.passes.loop_fission import backward_slice
from tbe_impl.codegen.passes.software_pipelining import row_buffers
from tbe_impl.codegen.vector_types import memory_bytes

MAX_PREFETCH_STEPS = 1 << 13
"""Maximum row length for which the next row is prefetched while the current one is written."""

PREFETCH_DISTANCE_BYTES = 1 << 12
"""Prefetch distance in bytes.

A prefetch of the next short row arrives too late; rows far ahead are evicted before their use.
"""


def prefetch_rows(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Prefetches later rows in all vector loops that read a row for the last time."""
    return _visit(body, (), row_buffers(body))


def _visit(
    body: tuple[ir.Stmt, ...], around: tuple[ir.Stmt, ...], buffers: Container[str]
) -> tuple[ir.Stmt, ...]:
    """Adds prefetches to the loops of a body; `around` are the enclosing loops and conditions."""

    def change(node: ir.Stmt) -> ir.Stmt:
        if isinstance(node, ir.VectorLoop):
            return _prefetch_in_loop(node, around, buffers)
        if isinstance(node, ir.If):
            return replace(node, then=_visit(node.then, (*around, node), buffers))
        if isinstance(node, (ir.For, ir.Block)):
            outer = (*around, node) if isinstance(node, ir.For) else around
            return replace(node, body=_visit(node.body, outer, buffers))
        return node

    return tuple(map(change, body))


def _prefetch_in_loop(
    loop: ir.VectorLoop, around: tuple[ir.Stmt, ...], buffers: Container[str]
) -> ir.VectorLoop:
    rows = _rows_of_strip(loop)
    loops = {node.name: node for node in (*around, *rows) if isinstance(node, ir.For)}
    stores = [node for node in loop.whole if isinstance(node, (ir.Store, ir.Accumulate))]
    kept = [node for node in stores if any(name in buffers for name in ir.names_in(node.place))]
    last = _loop_over_rows(loop, (*around, *rows)) if len(kept) < len(stores) else ""
    needed = backward_slice(ir.names_in(kept), loop.whole)
    outer = {name for node in needed for name in _offset_of(node).variables if name in loops}
    own = min(outer) if len(outer) == 1 else ""

    def change(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
        row, offset = own if node in needed and own else last, _offset_of(node)
        if row not in offset.variables:
            return (node,)
        assert isinstance(node, ir.Let) and isinstance(node.value, ir.Load)
        place = node.value.place
        assert isinstance(place, ir.Pointer)
        ahead = _distance(offset, row, memory_bytes(node.value.memory), loops.get(row))
        return ir.Prefetch(replace(place, offsets=(offset.shift(row, ahead),))), node

    return replace(loop, whole=ir.map_statements(loop.whole, change))


def _rows_of_strip(loop: ir.VectorLoop) -> tuple[ir.For, ...]:
    """Returns the loop over the rows of a strip inside a vector loop, with the strip as its step.

    The loop has the name of its first definition, which is the row. Returns an empty tuple if
    `tbe_impl.codegen.passes.loop_interchange` did not interchange the loops.
    """
    found = [node for node in loop.whole if isinstance(node, ir.For) and node.strip]
    rows = ((node, node.body[0]) for node in found)
    return tuple(
        replace(node, name=row.name, begin=None, step=ir.Int(node.strip))
        for node, row in rows
        if isinstance(row, ir.Let)
    )


def _offset_of(node: ir.Stmt) -> ir.Index:
    """Returns the offset of a contiguous load; 0 for other statements."""
    if isinstance(node, ir.Let) and isinstance(node.value, ir.Load) and node.value.is_contiguous:
        place = node.value.place
        if isinstance(place, ir.Pointer) and len(place.offsets) == 1:
            (offset,) = place.offsets
            return offset if isinstance(offset, ir.Index) else ir.ZERO
    return ir.ZERO


def _loop_over_rows(loop: ir.VectorLoop, around: Sequence[ir.Stmt]) -> str:
    """Returns the variable of the loop for whose later iterations `loop` prefetches.

    The result is the variable of the loop over rows around `loop`. If `loop` is the only loop of
    the nest, the result is the variable of `loop` itself. Returns "" if `loop` prefetches nothing.
    """
    if all(isinstance(node, ir.For) and node.name in ir.names_in(loop.begin) for node in around):
        # the only loop of the nest, maybe in blocks
        streams = any(isinstance(node, ir.Store) and node.stream for node in loop.whole)
        return loop.name if streams else ""
    rows = around[-1]
    if not isinstance(rows, ir.For) or (loop.steps or 0) > MAX_PREFETCH_STEPS:
        return ""
    return rows.name if rows.step == ir.Int(1) or rows.begin is None else ""


def _distance(offset: ir.Index, row: str, size: int, rows: ir.For | None) -> int:
    """Returns by how many iterations of loop `row` a prefetch is ahead of its load.

    Args:
        offset: offset of the load in elements, as a polynomial.
        row: variable of the loop for whose later iterations to prefetch.
        size: size of an element in bytes.
        rows: the loop with the variable `row`; None if that loop is the vector loop.
    """
    ahead = rows.step.value if rows is not None and isinstance(rows.step, ir.Int) else 1
    steps = [by for names, by in offset.terms if row in names and names == (row,)]
    is_linear = sum(row in names for names, _ in offset.terms) == len(steps) == 1
    return max(ahead, PREFETCH_DISTANCE_BYTES // (abs(steps[0]) * size)) if is_linear else ahead
