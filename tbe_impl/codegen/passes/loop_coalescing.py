"""Loop coalescing: one loop for perfectly nested loops.

The loops of a schedule's ``fuse``, with one division for each index:

Before::

    for i in 0..m as one loop with 1 inside:
      for j in 0..n:
        body

After::

    for i_j in 0..m * n:
      let i = i_j / n
      let j = i_j % n
      body

A block loop steps from block to block. For such a loop, the coalesced loop counts blocks, and the
index is the number of the block times the step.

The threads share the iterations of one loop. A short outer loop has too few iterations, and the
coalesced loop has enough.

A loop around a vector loop, if the rows are contiguous in memory. No division is needed, because
the outer index keeps its first value and only addresses use the inner one. The vector loop then has
one tail for all rows.

Before::

    for i in b..e as one loop with 1 inside:
      vector j in 0..n:
        body

After::

    if b < e:
      let i = b
      vector j in 0..(e - i) * n:
        body

Planning already merges adjacent axes that are contiguous in all accesses. This pass coalesces loops
that are contiguous only in a piece of the outer loop (index-set splitting).
"""

from __future__ import annotations

from dataclasses import replace

from tbe_impl.codegen.loop_ir import (
    FLAG,
    INDEX,
    ZERO,
    Expr,
    For,
    If,
    Index,
    Int,
    Let,
    Stmt,
    Var,
    VectorLoop,
    fold,
    op,
)

THREAD_BEGIN, THREAD_END = Var("begin"), Var("end")
"""The iterations of a parallel loop that one thread runs: parameters of the nest's function."""


def trip_count(begin: Expr, end: Expr, step: int) -> Expr:
    """Returns the trip count of a loop."""
    count = op("sub", end, begin) if begin != ZERO else end
    return op("div", op("add", count, Int(step - 1)), Int(step)) if step > 1 else count


def coalesce_loops(node: Stmt) -> Stmt:
    """Coalesces a loop with its `For.inner` inner loops; returns other statements unchanged."""
    if not isinstance(node, For) or not node.inner:
        return node
    if isinstance(node.body[-1], VectorLoop):
        return _collapse_rows(node, node.body[:-1], node.body[-1])
    loops, starts = [node], [node.body]
    for _ in range(node.inner):
        *first, inner = starts.pop()
        assert isinstance(inner, For)
        loops.append(inner)
        starts += [tuple(first), inner.body]
    steps = [one.step.value for one in loops if isinstance(one.step, Int)]
    counts = [
        trip_count(one.begin or ZERO, one.end, step) for one, step in zip(loops, steps, strict=True)
    ]
    whole = Var("_".join(one.name for one in loops))
    body: list[Stmt] = []
    rest: Expr = whole
    for number, (one, own) in enumerate(zip(loops, starts, strict=True)):
        value = rest
        if counts[number + 1 :]:
            behind = fold("mul", counts[number + 1 :])
            value, rest = op("div", rest, behind), op("mod", whole, behind)
        if steps[number] > 1:
            value = op("mul", value, one.step)
        if one.begin != ZERO:
            value = op("add", one.begin or ZERO, value)
        body += [Let(one.name, INDEX, value), *own]
    begin, end = (THREAD_BEGIN, THREAD_END) if node.is_shared else (ZERO, fold("mul", counts))
    return For(whole.name, begin, end, tuple(body), unroll=node.unroll)


def _collapse_rows(rows: For, starts: tuple[Stmt, ...], row: VectorLoop) -> If:
    """Coalesces a loop over contiguous rows with the vector loop over a row."""
    begin, count = rows.begin or ZERO, _constant_difference(rows.end, rows.begin)
    assert isinstance(row.limit, Index) and row.begin == ZERO
    limit: Expr = op("mul", op("sub", rows.end, Var(rows.name)), row.limit)
    steps = None
    if count is not None:
        limit = Index(tuple((names, by * count) for names, by in row.limit.terms))
        steps = limit.constant
    whole = replace(row, limit=limit, steps=steps)
    body = (Let(rows.name, INDEX, begin), *starts, whole)
    return If(op("lt", begin, rows.end, kind=FLAG), body)


def _constant_difference(one: Expr, other: Expr | None) -> int | None:
    """Returns the difference of two polynomials; None if it is no constant."""
    if not isinstance(one, Index) or not isinstance(other, Index):
        return None
    found = dict(one.terms)
    for names, by in other.terms:
        found[names] = found.get(names, 0) - by
    return Index(tuple((names, by) for names, by in found.items() if by)).constant
