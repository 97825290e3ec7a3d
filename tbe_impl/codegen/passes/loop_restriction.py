"""Loop restriction: computes the bounds of loops that run over a part of their range.

Three transformations restrict loops: strip-mining (a schedule's ``split``), the partition of a
loop among threads, and the computation of a tile. Lowering emits each loop over its whole range,
inside a `Restrict`. This pass computes the bounds.

Before::

    restrict i to begin..end:
      for i_block32 in 0..n step 32, blocks of i:
        let i_block32_end = least(i_block32 + 32, n)
        restrict i to i_block32..i_block32_end:
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
    if body is function.body:
        return function
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
    same = len(found) == len(body) and all(map(lambda a, b: a is b, found, body))
    return body if same else tuple(found)


def _restrict_statement(node: ir.Stmt, ranges: Mapping[str, ir.Restrict]) -> ir.Stmt:
    changed: dict[str, Any] = {}
    for name in node.bodies:
        before = getattr(node, name)
        after = restrict_loops(before, ranges)
        if after is not before:
            changed[name] = after
    if isinstance(node, ir.VectorLoop) and node.name in ranges:
        around = ranges[node.name]
        begin, limit = _restrict_begin(node.begin, around), _restrict_end(node.limit, around)
        changed |= {"begin": begin, "limit": limit, "steps": None}
    elif isinstance(node, ir.For) and (node.over or node.name) in ranges:
        around = ranges[node.over or node.name]
        changed |= {
            "begin": _restrict_begin(node.begin or ir.ZERO, around),
            "end": _restrict_end(node.end, around),
        }
        if node.over:
            changed["body"] = _restrict_blocks(changed.get("body", node.body), around)
    if isinstance(node, ir.For) and node.over:
        changed["over"] = ""
    return replace(node, **changed) if changed else node


def _restrict_begin(begin: ir.Expr, around: ir.Restrict) -> ir.Expr:
    if begin == ir.ZERO:
        return around.begin
    if isinstance(begin, ir.Call) and begin.function == "most" and begin.arguments[0] == ir.ZERO:
        begin = begin.arguments[1]
    return ir.call("most", around.begin, begin)


def _restrict_end(end: ir.Expr, around: ir.Restrict) -> ir.Expr:
    if end == around.limit:
        return around.end
    if isinstance(end, ir.Call) and end.function == "least" and end.arguments[0] == around.limit:
        end = end.arguments[1]
    return ir.call("least", around.end, end)


def _restrict_blocks(body: tuple[ir.Stmt, ...], around: ir.Restrict) -> tuple[ir.Stmt, ...]:
    """Restricts the ends of blocks, which the first statements of a loop over blocks define."""

    def change(node: ir.Node) -> ir.Node:
        return around.end if node == around.limit else node

    first, *rest = body
    return (ir.rebuild(first, change), *rest)
