"""Loop restriction: computes the bounds of loops that run over a part of their range.

Strip-mining (a schedule's ``split``) restricts a loop to one block, the partition among threads
restricts it to the iterations of one thread, and ``compute_at`` restricts the loops of a stage to
one tile. Lowering emits each loop over its whole range, inside a loop over blocks (`For.over`) or
inside a `Restrict`. This pass computes the bounds.

Before::

    restrict i to begin..end:
      for i_block32 in 0..n step 32, blocks of i:
        for i in 0..4:
          body of the border
        for i in 4..n:
          body

After::

    for i_block32 in begin..end step 32:
      let i_block32_end = least(i_block32 + 32, end)
      for i in i_block32..least(i_block32_end, 4):
        body of the border
      for i in most(i_block32, 4)..i_block32_end:
        body
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tbe_impl.codegen import loop_ir as ir


def restrict_function(function: ir.Function) -> ir.Function:
    """Restricts the loops of a function, and removes sizes that no expression uses any more."""
    body = restrict_loops(function.body)
    used = ir.names_in((*filter(_is_no_size, function.declarations), *body))
    needed = (
        item
        for item in function.declarations
        if _is_no_size(item) or (isinstance(item, ir.Let) and item.name in used)
    )
    return replace(function, declarations=tuple(needed), body=body)


def _is_no_size(node: ir.Stmt) -> bool:
    return not isinstance(node, ir.Let) or node.kind != ir.INDEX


def restrict_loops(
    body: tuple[ir.Stmt, ...], ranges: Mapping[str, ir.Restrict] = MappingProxyType({})
) -> tuple[ir.Stmt, ...]:
    """Returns statements without `Restrict`; `ranges` maps variables to their innermost one."""
    found: list[ir.Stmt] = []
    for node in body:
        if isinstance(node, ir.Restrict):
            found += restrict_loops(node.body, {**ranges, node.name: node})
        elif node.bodies:
            found.append(_restrict_statement(node, ranges))
        else:
            found.append(node)
    return tuple(found)


def _restrict_statement(node: ir.Stmt, ranges: Mapping[str, ir.Restrict]) -> ir.Stmt:
    if isinstance(node, ir.For):
        begin, end = _restrict_bounds(node.over or node.name, node.begin, node.end, ranges)
        if not node.over:
            return replace(node, begin=begin, end=end, body=restrict_loops(node.body, ranges))
        block = ir.Restrict(node.over, ir.Var(node.name), node.block_end, node.end, ())
        body = restrict_loops(node.body, {**ranges, node.over: block})
        behind = ir.call("least", ir.op("add", ir.Var(node.name), node.step), end)
        last = ir.Let(node.block_end.name, ir.INDEX, behind)
        return replace(node, begin=begin, end=end, body=(last, *body), over="")
    changed: dict[str, Any] = {
        name: restrict_loops(getattr(node, name), ranges) for name in node.bodies
    }
    if isinstance(node, ir.VectorLoop) and node.name in ranges:
        begin, limit = _restrict_bounds(node.name, node.begin, node.limit, ranges)
        changed |= {"begin": begin, "limit": limit, "steps": None}
    return replace(node, **changed)


def _restrict_bounds(
    name: str, begin: ir.Expr | None, end: ir.Expr, ranges: Mapping[str, ir.Restrict]
) -> tuple[ir.Expr | None, ir.Expr]:
    """Returns the bounds of a loop over the variable `name`, restricted to its range."""
    around = ranges.get(name)
    if around is None:
        return begin, end
    if isinstance(begin, ir.Call) and begin.function == "most" and begin.arguments[0] == ir.ZERO:
        begin = begin.arguments[1]
    if isinstance(end, ir.Call) and end.function == "least" and end.arguments[0] == around.limit:
        end = end.arguments[1]
    return (
        around.begin if begin in (None, ir.ZERO) else ir.call("most", around.begin, begin),
        around.end if end == around.limit else ir.call("least", around.end, end),
    )
