"""Expands each vector loop into four parts: head, unrolled vectors, single vectors, masked tail.

Before: ``vector i in begin..limit: body``.
After: ``head elements; for 4 vectors; for 1 vector; if elements are left: masked body``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.loop_ir import (
    FLAG,
    INDEX,
    INT,
    LANES,
    Assign,
    Block,
    Cast,
    Expr,
    For,
    If,
    Int,
    Let,
    Prefetch,
    Stmt,
    TargetIf,
    Var,
    VectorLoop,
)


def expand_vector_loop(loop: VectorLoop) -> Block:
    """Returns the sequential loops of one vector loop."""
    variable, limit = Var(loop.name), loop.limit
    found: list[Stmt] = []
    if loop.head is not None:
        count = loop.head_count
        least = ir.call("least", loop.head, ir.op("sub", limit, variable))
        peeled = (*loop.first, Assign(variable, ir.op("add", variable, count)))
        found.append(Let(count.name, INT, Cast(INT, least)))
        found.append(If(ir.op("gt", count, Int(0), kind=FLAG), peeled))
    if loop.copies:
        several = ir.op("mul", Int(len(loop.copies)), LANES)
        copies = (
            Block(number_prefetches(copy, Int(place))) for place, copy in enumerate(loop.copies)
        )
        found.append(For(loop.name, None, limit, tuple(copies), several, several))
    if loop.strips:
        found.append(TargetIf("LOOP_FISSION", loop.strips))
    if loop.whole:
        found.append(For(loop.name, None, limit, loop.whole, LANES, LANES))
    if loop.rest:
        left = Cast(INT, ir.op("sub", limit, variable))
        tail = (Let(loop.rest_count.name, INT, left), *loop.rest)
        found.append(If(ir.op("lt", variable, limit, kind=FLAG), tail))
    start = Let(loop.name, INDEX, loop.begin, is_mutable=True)
    if loop.cells:
        return Block((TargetIf("FLOAT16_TABLES", loop.cells, (start, *found)),))
    return Block((start, *found))


def number_prefetches(body: Sequence[Stmt], place: Expr) -> tuple[Stmt, ...]:
    """Passes `place`, the number of a vector among consecutive vectors, to each prefetch.

    With this number, only the first vector of each cache line prefetches the line.
    """
    return tuple(
        replace(node, position=place)
        if isinstance(node, Prefetch) and node.position is None
        else node
        for node in body
    )
