"""Finds, in a Cell's source, chains of layers and function calls that can be fused."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from custom_ops.core.framework import nn
from custom_ops.patching.call_semantics import activation_of, semantics_of
from custom_ops.patching.data_flow import Flow
from custom_ops.patching.partial_evaluation import Scope
from custom_ops.patching.rules import rule_for
from custom_ops.patching.source_edits import Edit

LONGEST = 3


def find(flow: Flow, scope: Scope, taken: set[int]) -> Iterator[Edit]:
    """Yields an edit for each chain of layers that a fused Cell can replace.

    Args:
        flow: data flow of the Cell.
        scope: scope of the names in the Cell.
        taken: ids of the nodes that other edits replace. The function adds to this set the ids of
            the nodes that the yielded edits replace.
    """
    known: set[str] = set()
    for node in list(flow.nodes()):
        if id(node) in taken or not isinstance(node, ast.Call):
            continue
        calls, cells, names = _layer_chain(flow, scope, node)
        rule = rule_for(tuple(cells), least=2)
        if rule is None:
            continue
        count = len(rule.classes)
        calls, cells = calls[:count], cells[:count]
        if any(id(one) in taken for one in calls):
            continue
        taken.update(map(id, calls))
        name = _fresh_name("fused_" + "_".join(names[:count]), known)
        edit = Edit(name, tuple(cells), rule.make(*cells))
        first = calls[0]
        edit.expressions[id(first)] = _call(name, first.args)
        for one in calls[1:]:
            edit.expressions[id(one)] = one.args[0]
        yield edit


def find_functions(flow: Flow, scope: Scope, taken: set[int]) -> Iterator[Edit]:
    """Yields an edit for each softmax and activation that is called as a function or primitive."""
    known: set[str] = set()
    for node in list(flow.nodes()):
        if id(node) in taken or not isinstance(node, ast.Call):
            continue
        found = semantics_of(node, scope)
        if found is None or found.called is None or found.kind == "cell" or not found.operands:
            continue
        cell = _softmax(found, scope) if found.kind == "softmax" else activation_of(found, scope)
        rule = rule_for((cell,)) if cell is not None else None
        if rule is None:
            continue
        name = _fresh_name(f"fused_{found.kind}", known)
        taken.add(id(node))
        yield Edit(
            name, (found.kind,), rule.make(cell), {id(node): _call(name, list(found.operands[:1]))}
        )


def _softmax(found: Any, scope: Scope) -> Any:
    given = [value for name, value in found.keywords.items() if name in ("axis", "dim")]
    if len(given) < len(found.keywords) or len(given) + len(found.operands) > 2:
        return None
    given += found.operands[1:]
    known = scope.evaluate(given[0]) if given else None
    axis = known.value if known else getattr(found.called, "axis", None if given else -1)
    axis = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
    return nn.Softmax(axis) if isinstance(axis, int) else None


def _layer_chain(
    flow: Flow, scope: Scope, node: ast.Call
) -> tuple[list[ast.Call], list[Any], list[str]]:
    """Returns the chain of layers that starts at `node`, as three lists: calls, Cells and names.

    In a chain, the result of each call is read only by the next call. The lists are empty if `node`
    is not a call of a Cell with one argument.
    """
    calls, cells, names = [node], [], []
    found = semantics_of(node, scope)
    if found is None or found.kind != "cell" or len(node.args) != 1 or node.keywords:
        return [], [], []
    cells.append(found.called)
    names.append(_layer_name(node, "layer"))
    while len(cells) < LONGEST:
        reader = flow.only_reader(calls[-1])
        if reader is None or not isinstance(reader[0], ast.Call):
            break
        call = reader[0]
        found = semantics_of(call, scope)
        is_only = bool(call.args) and call.args[0] is reader[1]
        cell = activation_of(found, scope) if found is not None and is_only else None
        if cell is None or (
            found is not None and found.kind == "cell" and (len(call.args) != 1 or call.keywords)
        ):
            break
        calls.append(call)
        cells.append(cell)
        names.append(_layer_name(call, type(cell).__name__.lower()))
    return calls, cells, names


def _fresh_name(name: str, known: set[str]) -> str:
    """Returns `name`; appends a number if the name is already in `known`."""
    made, number = name, 1
    while made in known:
        number += 1
        made = f"{name}_{number}"
    known.add(made)
    return made


def _layer_name(call: ast.Call, otherwise: str) -> str:
    if isinstance(call.func, ast.Subscript):
        return re.sub(r"\W+", "_", ast.unparse(call.func)).strip("_").removeprefix("self_")
    return call.func.attr if isinstance(call.func, ast.Attribute) else otherwise


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load()), arguments, [])
