"""Writes scalar expressions as Python: sizes as plain arithmetic, elements as ``tvm`` calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    IterVar,
    Read,
    Select,
    Var,
    walk,
)
from tbe_impl.dsl.location import user_location
from tbe_impl.errors import InputError

_INFIX_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "floormod": "%",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
    "shl": "<<",
    "shr": ">>",
}
_FUNCTION = {
    "max": "tvm.max",
    "min": "tvm.min",
    "and": "tvm.all",
    "or": "tvm.any",
    "pow": "tvm.power",
    "truncdiv": "tvm.truncdiv",
    "truncmod": "tvm.truncmod",
}
_PYTHON_FUNCTIONS = {"max": "max", "min": "min"}
_TVM_FUNCTIONS = frozenset(
    "exp exp2 log log2 log10 log1p sqrt rsqrt tanh sigmoid erf sin cos tan atan asin acos sinh "
    "cosh floor ceil trunc abs isnan isinf isfinite fmod".split()
)
"""Scalar functions with the same name in ``tvm``."""


def number_text(value: Any) -> str:
    """Formats a number as a Python expression.

    >>> number_text(0.5), number_text(-math.inf)
    ('0.5', 'float("-inf")')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def has_element_or_index(expression: Expr) -> bool:
    """Whether the expression contains an element or an index, and is unknown at build time."""
    return any(isinstance(node, (Read, IterVar)) for node in walk(expression))


def size_text(expression: Expr, names: Mapping[int, str]) -> str:
    """Formats an expression of sizes as Python arithmetic.

    Args:
        expression: an expression without elements and indices.
        names: maps the ``id`` of a size to its name.

    Raises:
        InputError: a size has no name, or an operation has no equivalent in Python.
    """
    if isinstance(expression, Const):
        return number_text(expression.value)
    if isinstance(expression, Var) and id(expression) in names:
        return names[id(expression)]
    if isinstance(expression, Cast):
        inner = size_text(expression.value, names)
        return f"float({inner})" if is_float(expression.dtype) else f"int({inner})"
    if isinstance(expression, Binary):
        a, b = (size_text(part, names) for part in (expression.a, expression.b))
        if expression.op in _PYTHON_FUNCTIONS:
            return f"{expression.op}({a}, {b})"
        if expression.op in ("and", "or"):
            return f"({a} {expression.op} {b})"
        if expression.op in _INFIX_OPERATORS:
            symbol = (
                "//"
                if expression.op == "div" and not is_float(expression.dtype)
                else _INFIX_OPERATORS[expression.op]
            )
            return f"({a} {symbol} {b})"
    if isinstance(expression, Select):
        condition, a, b = (
            size_text(part, names) for part in (expression.condition, expression.a, expression.b)
        )
        return f"({a} if {condition} else {b})"
    raise _unsupported_error(expression)


def element_text(expression: Expr, names: Mapping[int, str]) -> str:
    """Formats the expression of an element as ``tvm`` source.

    Args:
        expression: an expression of indices, elements and sizes.
        names: maps the ``id`` of a tensor, an index or a size to its name.

    Raises:
        InputError: ``tvm`` has no equivalent of a part of the expression.
    """
    if not has_element_or_index(expression):
        text = size_text(expression, names)
        return text if expression.dtype == "int32" else f'tvm.const({text}, "{expression.dtype}")'
    if isinstance(expression, IterVar) and id(expression) in names:
        return names[id(expression)]
    if isinstance(expression, Read) and id(expression.tensor) in names:
        indices = ", ".join(element_text(part, names) for part in expression.indices)
        # a rank-0 tensor becomes a tensor of one element
        return f"{names[id(expression.tensor)]}({indices or '0'})"
    if isinstance(expression, Cast):
        return f'{element_text(expression.value, names)}.astype("{expression.dtype}")'
    if isinstance(expression, Binary):
        a, b = (element_text(part, names) for part in (expression.a, expression.b))
        if expression.op == "div" and not is_float(expression.dtype):
            return f"tvm.truncdiv({a}, {b})"
        return (
            f"({a} {_INFIX_OPERATORS[expression.op]} {b})"
            if expression.op in _INFIX_OPERATORS
            else f"{_FUNCTION[expression.op]}({a}, {b})"
        )
    if isinstance(expression, Select):
        if not has_element_or_index(expression.condition):
            condition = size_text(expression.condition, names)
            a, b = (element_text(part, names) for part in (expression.a, expression.b))
            return f"({a} if {condition} else {b})"
        parts = ", ".join(element_text(part, names) for part in expression.children)
        # unlike tvm.select, tvm.if_then_else does not read out of bounds
        return f"tvm.if_then_else({parts})"
    if isinstance(expression, Call):
        return _call_text(expression, [element_text(part, names) for part in expression.args])
    raise _unsupported_error(expression)


def _call_text(expression: Call, given: list[str]) -> str:
    dtype = expression.args[0].dtype
    if expression.name in _TVM_FUNCTIONS:
        return f"tvm.{expression.name}({', '.join(given)})"
    if expression.name == "rint":
        return f"tvm.round({given[0]})"
    if expression.name == "neg":
        return f'({given[0]} * tvm.const(-1, "{dtype}"))'
    if expression.name == "rec":
        return f'(tvm.const(1, "{dtype}") / {given[0]})'
    if expression.name == "relu":
        return f'tvm.max({given[0]}, tvm.const(0, "{dtype}"))'
    if expression.name == "not":
        return f'({given[0]} == tvm.const(False, "bool"))'
    raise _unsupported_error(expression)


def _unsupported_error(expression: Expr) -> InputError:
    return InputError(
        "this has no equivalent in CANN's tvm",
        place=str(user_location()),
        got=str(expression)[:120],
    )
