"""Several accumulators: each vector of an unrolled reduction adds to an accumulator of its own.

Before: ``a = 0; vector i unroll 4: a = a + p[i]; v = sum(a)``.
After: ``a = 0; a_1 = 0; …; vector i unroll 4 with a, a_1, …: a = a + p[i]; v = sum(a + a_1 + …)``.

An addition has a latency of four cycles, and a processor starts one or two additions in each cycle.
Without independent accumulators, each addition waits for the previous one. Each accumulator also
adds fewer values and loses less precision. The pass pays if a row has several vectors and the other
work of a step takes less time than the latency of an addition (`tbe_impl.codegen.reductions`).
Measured by `benchmarks.passes`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.passes.row_buffers import MAX_ROW_STEPS
from tbe_impl.codegen.planning.partition import SLOW_FUNCTION_COST, SLOW_FUNCTIONS
from tbe_impl.codegen.vector_types import combine, convert

LONG_STEP = 16
"""Minimum number of operations that make a step longer than the latency of its addition."""


def limit_accumulators(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Removes the unrolling of reduction loops whose steps hide the latency of an addition.

    One accumulator then suffices. Longer rows stay unrolled, because each of several accumulators
    adds fewer values and loses less precision.
    """

    def change(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(node, ir.VectorLoop) or not node.accumulators or node.unroll == 1:
            return (node,)
        length = node.limit.constant if isinstance(node.limit, ir.Index) else None
        is_short = length is not None and length <= MAX_ROW_STEPS
        is_long_step = is_short and sum(map(_cost, ir.walk(node.whole))) >= LONG_STEP
        return (replace(node, unroll=1) if is_long_step else node,)

    return ir.map_statements(body, change, frozenset({ir.VectorLoop}))


def _cost(node: ir.Node) -> int:
    """Returns the number of simple operations on vectors to which a node is equivalent."""
    if isinstance(node, ir.Call):
        name = node.function.partition("_")[0]
        return SLOW_FUNCTION_COST if {name, node.function} & SLOW_FUNCTIONS else name != "round"
    return isinstance(node, ir.Op) and node.kind not in (ir.INDEX, ir.INT, ir.FLAG, ir.ADDRESS)


def add_accumulators(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Gives each vector of an unrolled loop its own copy of the loop's accumulators."""
    groups: dict[str, tuple[str, ...]] = {}
    operators: dict[str, str] = {}
    for node in ir.walk(body):
        if isinstance(node, ir.VectorLoop) and node.unroll > 1:
            for name, *_ in node.accumulators:
                groups[name] = (name, *(f"{name}_{copy}" for copy in range(1, node.unroll)))
        elif isinstance(node, ir.Reduce) and isinstance(node.target, ir.Var):
            operators[node.target.name] = node.operator
    totals: dict[ir.Node, tuple[str, ...]] = {}

    def total_of(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Var) and node.name in groups:
            names, operator = groups[node.name], operators[node.name]
            found = _combine(names, lambda name: ir.Var(name, node.kind), operator)
            totals[found] = names
            return found
        if isinstance(node, ir.Call) and node.arguments and node.arguments[0] in totals:
            (total,) = node.arguments
            if node == convert(total, node.kind):
                # the sum of float32 accumulators is rounded once
                names = totals[total]
                return _combine(
                    names, lambda name: convert(ir.Var(name, total.kind), node.kind), "sum"
                )
        return node

    def change(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if isinstance(node, ir.VectorLoop) and node.unroll > 1:
            mine = tuple(groups[name] for name, *_ in node.accumulators)
            return (replace(node, accumulators=mine),)
        if not isinstance(node, ir.Let) or node.value is None:
            return (node,)
        if node.name in groups:
            return tuple(replace(node, name=name) for name in groups[node.name])
        return (replace(node, value=ir.rebuild(node.value, total_of)),)

    return ir.map_statements(body, change) if groups else body


def _combine(names: tuple[str, ...], value_of: Callable[[str], ir.Expr], operator: str) -> ir.Expr:
    """Combines the values that `value_of` returns for the accumulators `names`."""

    def both(one: ir.Expr, other: ir.Expr) -> ir.Expr:
        if one.kind == ir.WIDE:
            return ir.call("wide_both", one, other, kind=ir.WIDE)
        return combine(operator, one.kind, one, other)

    return functools.reduce(both, map(value_of, names))
