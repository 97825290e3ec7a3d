"""Derives the peeled head, the unrolled vectors and the masked tail of a vector loop.

Before: ``vector i in begin..limit: body``, where the body processes one whole vector. After: the
loop also contains a body for the first `head` elements, a body for each vector of an unrolled
iteration, and a body for the elements after the last whole vector.

A masked body loads and stores only the lanes that hold elements of the loop, and prefetches
nothing. A sum along the loop adds 0 in the other lanes, and other reductions use their identity
element. Each unrolled vector has its own accumulators, so that an addition does not wait for the
previous addition.
"""

from __future__ import annotations

from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.loop_ir import Accumulate, Load, Node, PackTile, Reduce, Store, VectorLoop
from tbe_impl.codegen.vector_types import neutral, select

MIN_VECTOR_STEPS = 4
"""Minimum number of elements of a loop with whole vectors; no supported vector is shorter.
"""
MAX_LANES = 64
"""A multiple of every supported number of lanes."""


def add_ends(loop: VectorLoop) -> VectorLoop:
    """Returns the loop with its peeled head, its unrolled vectors and its masked tail."""
    steps, whole = loop.steps, loop.whole
    first = mask_lanes(whole, loop.head_count) if loop.head is not None else ()
    copies = tuple(_copy(loop, number) for number in range(loop.unroll)) if loop.unroll > 1 else ()
    is_whole = loop.head is None and steps is not None and steps % MAX_LANES == 0
    rest = () if is_whole else mask_lanes(whole, loop.rest_count)
    if steps is not None and steps < MIN_VECTOR_STEPS:
        whole = ()
    return replace(loop, first=first, copies=copies, whole=whole, rest=rest)


def mask_lanes(body: tuple[ir.Stmt, ...], count: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Returns statements that compute only the first `count` lanes of a vector."""
    own = {node.name for node in ir.walk(body) if isinstance(node, ir.Let)}

    def change(node: Node) -> Node:
        if isinstance(node, (Load, Store)):
            return node if node.stride == ir.ZERO else replace(node, count=count)
        if isinstance(node, Accumulate):
            return replace(node, count=count)
        if isinstance(node, PackTile):
            return replace(node, lanes=count)
        if isinstance(node, Reduce) and isinstance(node.target, ir.Var):
            # an accumulator inside the loop belongs to lanes, one outside to the whole row
            if node.target.name in own:
                return node
            kind, lanes = node.value.kind, ir.call("lanes_below", count, kind=ir.MASK)
            return replace(
                node, value=select(kind, lanes, node.value, neutral(node.operator, kind))
            )
        return node

    kept = ir.map_statements(body, lambda node: () if isinstance(node, ir.Prefetch) else (node,))
    return ir.rebuild(kept, change)


def _copy(loop: VectorLoop, number: int) -> tuple[ir.Stmt, ...]:
    """Returns the statements of vector `number` in one iteration of an unrolled vector loop."""
    if not number:
        return loop.whole
    name = f"{loop.name}_{number}"
    place = ir.op("add", ir.Var(loop.name), ir.op("mul", ir.Int(number), ir.LANES))
    names = {group[0]: group[number] for group in loop.accumulators if len(group) > number}
    names[loop.name] = name
    return (ir.Let(name, ir.INDEX, place), *ir.rename(loop.whole, names))
