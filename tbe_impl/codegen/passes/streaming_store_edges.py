"""Write combining: one streaming store for a cache line that two rows have in common.

Before: each row ends with a masked store of `rest` lanes, and starts with a masked store of `head`
lanes. After: the end of a row stays in a register until the start of the next row is computed; one
non-temporal store then writes both.

A partial store to such a line reads the line first and stalls the non-temporal stores. For rows of
4 KiB, partial stores cost a fifth of the time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.loop_ir import FLAG, For, Index, Int, Store, VectorLoop


def join_row_edges(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Joins the edges of contiguous rows in all loops over rows."""
    edges: dict[ir.Let, None] = {}

    def change(inner: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        found = list(inner)
        for loop in loops_over_whole_range(inner):
            found[inner.index(loop)] = _with_joined_edges(loop, edges)
        return tuple(found)

    found = ir.map_bodies(body, change)
    return (*reversed(edges), *found)


def loops_over_whole_range(body: tuple[ir.Stmt, ...]) -> list[For]:
    """Returns the sequential loops in a body that index-set splitting did not split."""
    loops = [node for node in body if isinstance(node, For)]
    counts = Counter(node.name for node in loops)
    return [
        node
        for node in loops
        if node.begin is not None and node.step == Int(1) and counts[node.name] == 1
    ]


def _with_joined_edges(rows: For, edges: dict[ir.Let, None]) -> For:
    def change(node: ir.Stmt) -> ir.Stmt:
        if not isinstance(node, VectorLoop) or node.begin != ir.ZERO:
            return node
        first = tuple(_edge_store(one, rows, node, edges, is_head=True) for one in node.first)
        rest = tuple(_edge_store(one, rows, node, edges, is_head=False) for one in node.rest)
        return replace(node, first=first, rest=rest)

    return replace(rows, body=tuple(map(change, rows.body)))


def _edge_store(
    store: ir.Stmt, rows: For, loop: VectorLoop, edges: dict[ir.Let, None], *, is_head: bool
) -> ir.Stmt:
    """Returns a statement that stores the elements at the start or at the end of a row.

    Args:
        store: the partial store of these elements. This store is returned unchanged if the rows are
            not contiguous.
        rows, loop: the loop over rows and the loop over a row.
        edges: receives the definition of the register that keeps the end of a row.
        is_head: whether the elements are the first of the row.
    """
    length = loop.limit.constant if isinstance(loop.limit, Index) else None
    if not isinstance(store, Store) or store.stream is None or store.count is None:
        return store
    if length is None or not _is_row_of(store.place, rows.name, loop.name, length):
        return store
    value, kind, place = store.value, store.value.kind, store.place
    assert isinstance(place, ir.Pointer) and isinstance(place.base, ir.Var)
    edge = ir.Var(f"{place.base.name}_edge", kind)
    edges.setdefault(ir.Let(edge.name, kind, ir.Zero(kind), is_mutable=True))
    left_over, number = ir.op("mod", Int(length), ir.LANES), Index((((rows.name,), 1),))
    conditions = [store.stream, ir.op("eq", left_over, Int(0), kind=FLAG)]
    joined: ir.Stmt
    if is_head:
        assert rows.begin is not None
        conditions.append(ir.op("gt", number, rows.begin, kind=FLAG))
        behind = ir.Pointer(place.base, (*place.offsets, store.count))
        both = ir.call(
            "joined", edge, value, store.count, kind=kind, prefix="i32" if kind == ir.MASK else kind
        )
        start = ir.op("sub", behind, ir.LANES)
        joined = ir.Evaluate(ir.call("stream", start, both, prefix=store.memory))
    else:
        conditions.append(ir.op("lt", ir.op("add", number, Int(1)), rows.end, kind=FLAG))
        joined = ir.Assign(edge, value)
    condition = ir.every(conditions)
    assert condition is not None
    alone = replace(store, stream=None, stage=None)
    return ir.If(condition, (joined,), (alone,), store.stage)


def _is_row_of(place: ir.Expr, row: str, step: str, length: int) -> bool:
    """Returns whether an address is in an array of contiguous rows, each of `length` elements."""
    if not isinstance(place, ir.Pointer) or not isinstance(place.base, ir.Var):
        return False
    if len(place.offsets) != 1 or not isinstance(place.offsets[0], Index):
        return False
    terms = [item for item in place.offsets[0].terms if {row, step} & set(item[0])]
    return sorted(terms) == sorted([((row,), length), ((step,), 1)])
