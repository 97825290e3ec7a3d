"""Emits loops that look up a float16 function in a table, for processors with float16 arithmetic.

A lookup is faster than the arithmetic that it replaces. Without a table, a float16 vector is
converted to two float32 vectors, and the exponentials and divisions of both vectors are computed.
`tbe_impl.codegen.passes.unary_half_functions` finds the functions, and
`tbe_impl.codegen.passes.half_precision_tables` builds the tables.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.passes.half_precision_tables import HalfLookupTable
from tbe_impl.codegen.passes.loop_fission import is_contiguous_load
from tbe_impl.codegen.passes.vector_tails import mask_lanes

MIN_TABLE_ELEMENTS = 64
"""Minimum number of elements in a row for table lookups."""
HALF = "f16"


def add_table_loop(loop: ir.VectorLoop, cells: HalfLookupTable) -> ir.VectorLoop:
    """Adds an alternative loop over chunks of table lookups.

    Args:
        loop: the loop; its statements compute the function of the table.
        cells: lookup table of the function.

    Returns:
        A copy of the loop with the alternative. The loop is returned unchanged if it is unrolled,
        or if it does not compute one contiguous float16 vector from another.
    """
    loads = [node for node in loop.whole if is_contiguous_load(node)]
    stores = [node for node in loop.whole if isinstance(node, ir.Store)]
    is_simple = all(isinstance(node, (ir.Let, ir.Store, ir.Prefetch)) for node in loop.whole)
    if loop.copies or not loop.whole or not is_simple or len(loads) != 1 or len(stores) != 1:
        return loop
    (load,), (store,) = loads, stores
    # the table loop needs a masked body for chunks of any length
    loop = replace(loop, rest=loop.rest or mask_lanes(loop.whole, loop.rest_count))
    source = load.value if isinstance(load, ir.Let) else None
    if not isinstance(source, ir.Load) or source.memory != HALF or store.memory != HALF:
        return loop
    own = {node.name for node in loop.whole if isinstance(node, ir.Let)}
    places = source.place, store.place
    if store.stride != ir.ONE or store.count is not None:
        return loop
    if not all(_is_unit_stride(one, loop.name) and not own & ir.names_in(one) for one in places):
        return loop
    is_streamed = store.stream is not None
    return replace(loop, cells=_table_loop(loop, cells, *places, is_streamed=is_streamed))


def _table_loop(
    loop: ir.VectorLoop,
    cells: HalfLookupTable,
    read: ir.Expr,
    written: ir.Expr,
    *,
    is_streamed: bool,
) -> tuple[ir.Stmt, ...]:
    variable = ir.Var(loop.name)
    table, part = ir.Var(f"{loop.name}_cells", "f16_cells"), ir.Var("part", "f16_part")
    first, size = ir.Var(f"{loop.name}_chunk"), ir.Var(f"{loop.name}_size")
    stream: ir.Expr = ir.Var("stream", ir.FLAG) if is_streamed else ir.Int(0)
    end, count = ir.op("add", first, size), loop.rest_count
    fetched = tuple(node for node in loop.whole if isinstance(node, ir.Prefetch))
    fetch = ir.Block((ir.For(loop.name, first, end, fetched, ir.Var("HALVES")),))
    left = ir.call("least", ir.LANES, ir.op("sub", end, variable))
    near = ir.op(
        "eq",
        ir.Var("part.near"),
        ir.call("mask", count, prefix=HALF),
        kind=ir.FLAG,
    )
    is_whole = ir.op("eq", count, ir.LANES, kind=ir.FLAG)
    far = (
        ir.Let(count.name, ir.INT, ir.Cast(ir.INT, left)),
        ir.Let(
            part.name,
            part.kind,
            ir.call("part_of", read, count, table, kind=part.kind, prefix=HALF),
        ),
        ir.If(near, (), (ir.If(is_whole, loop.whole, loop.rest),)),
        ir.Evaluate(ir.call("part_write", written, part, prefix=HALF)),
    )
    rest = ir.op("sub", loop.limit, variable)
    written_all = ir.call("chunk_write", read, written, size, table, stream, prefix=HALF)
    chunk = (
        ir.Let(loop.name, ir.INDEX, first),
        ir.Assign(size, ir.call("chunk_size", written, rest, stream, prefix=HALF)),
        *([fetch] if fetched else []),
        ir.If(
            ir.op("not", written_all, kind=ir.FLAG),
            (
                ir.Let("stream", ir.FLAG, ir.Int(0)),
                ir.For(loop.name, first, end, far, ir.LANES),
            ),
        ),
    )
    # each row stores the high bytes of all values, then the low bytes
    rows = tuple(
        tuple(map(int, row.astype("<f2").view(np.uint8).reshape(-1, 2).T[::-1].ravel()))
        for row in cells.rows
    )
    return (
        ir.Table(table.name, rows, len(rows) - 2, cells.of_product, cells.step),
        ir.For(first.name, loop.begin, loop.limit, chunk, size, more=(size.name,)),
    )


def _is_unit_stride(place: ir.Expr, name: str) -> bool:
    """Returns whether an address advances by one element when the variable `name` grows by 1."""
    if not isinstance(place, ir.Pointer) or name in ir.names_in(place.base):
        return False
    steps = []
    for offset in place.offsets:
        if isinstance(offset, ir.Index):
            steps += [(term, by) for term, by in offset.terms if name in term]
        elif offset == ir.Var(name):
            steps.append(((name,), 1))
        elif name in ir.names_in(offset):
            return False
    return steps == [((name,), 1)]
