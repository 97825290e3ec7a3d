"""Recognises scalars in a Cell's source, such as scales and the scores of masked elements."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from custom_ops.patching.call_semantics import semantics_of
from custom_ops.patching.data_flow import Definition, Flow
from custom_ops.patching.partial_evaluation import Scope, number_of

_DEPTH = 8
_NUMBERS = frozenset(
    {"sqrt", "float", "int", "scalar_to_tensor", "Tensor", "tensor", "rsqrt", "pow"}
)
"""Names of functions that return a number if their first argument is a number."""
_VALUE_AT = {"full": 1, "Tensor": 0, "tensor": 0, "float": 0, "cast": 0, "scalar_to_tensor": 0}
"""Dict from the name of a function to the index of the argument that the result is equal to."""


def is_number(node: ast.expr, flow: Flow, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether the value is a scalar in every call; the scalar may differ from call to call."""
    if depth == 0:
        return False
    known = scope.evaluate(node)
    if known is not None:
        return number_of(known.value) is not None
    if isinstance(node, ast.Name):
        found = flow.reaching.get(id(node), frozenset())
        return bool(found) and all(
            is_number(one.value, flow, scope, depth - 1)
            if one.value is not None
            else _is_shape_unpacking(one)
            for one in found
        )
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return all(is_number(one, flow, scope, depth - 1) for one in sides)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Call) and node.args:
        called = scope.evaluate(node.func)
        name = getattr(called.value, "__name__", "") if called else ""
        if name == "full":
            return ast.unparse(node.args[0]) in ("[]", "()") and is_number(
                node.args[1], flow, scope, depth - 1
            )
        return name in _NUMBERS and is_number(node.args[0], flow, scope, depth - 1)
    return False


def value_of(node: ast.expr, flow: Flow, scope: Scope, depth: int = _DEPTH) -> float | None:
    """Returns the value of a number, or the common value of all elements of a tensor.

    Returns None for any other expression. The minimum of a dtype is treated as −∞.
    """
    known = scope.evaluate(node)
    number = number_of(known.value) if known else None
    if number is not None or depth == 0:
        return number
    if isinstance(node, ast.Name):
        origin = flow.origin(node)
        return None if isinstance(origin, ast.Name) else value_of(origin, flow, scope, depth - 1)
    if isinstance(node, ast.Attribute) and node.attr == "min":
        return -math.inf
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = value_of(node.operand, flow, scope, depth - 1)
        return None if number is None else -number
    return _value_of_call(node, flow, scope, depth - 1)


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}
_FILL_VALUES = {"ones_like": 1.0, "zeros_like": 0.0}


def _value_of_call(node: ast.expr, flow: Flow, scope: Scope, depth: int) -> float | None:
    """Evaluates a call or operator for `value_of`; returns None if the value is unknown."""
    found = semantics_of(node, scope)
    if found is not None and found.kind in _FILL_VALUES:
        return _FILL_VALUES[found.kind]
    if found is not None and found.kind in ("full_like", "cast"):
        rest = found.operands[1:] if found.kind == "full_like" else found.operands
        given = found.keywords.get("fill_value") or (rest[0] if rest else None)
        return value_of(given, flow, scope, depth) if given is not None else None
    if found is not None and found.kind in _ARITHMETIC and len(found.operands) == 2:
        one, other = (value_of(part, flow, scope, depth) for part in found.operands)
        if one is None or other is None or (found.kind == "div" and other == 0):
            return None
        return _ARITHMETIC[found.kind](one, other)
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func).split(".")[-1]
    if name in ("to", "astype") and isinstance(node.func, ast.Attribute):
        return value_of(node.func.value, flow, scope, depth)
    if name == "float" and node.args and isinstance(node.args[0], ast.Constant):
        try:
            return float(node.args[0].value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
    place = _VALUE_AT.get(name)
    if place is None or len(node.args) <= place:
        return None
    return value_of(node.args[place], flow, scope, depth)


def _is_shape_unpacking(definition: Definition) -> bool:
    """Whether the definition unpacks a shape, as in ``a, b = x.shape``."""
    value: Any = getattr(definition.statement, "value", None)
    if not isinstance(definition.statement, ast.Assign):
        return False
    return (isinstance(value, ast.Attribute) and value.attr == "shape") or (
        isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "shape"
    )
