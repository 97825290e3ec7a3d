"""Evaluates a formula string, such as ``x/(1+exp(-beta*x))``, with NumPy functions only.

>>> import numpy as np
>>> float(evaluate("maximum(x, alpha*x)", {"x": np.array(-2.0), "alpha": 0.5})[0])
-1.0
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tbe_impl.cli.formula_text import PLACE as _PLACE
from tbe_impl.cli.formula_text import formula_error, parse_formula
from tbe_impl.errors import InputError, suggest_name

OTHER_FUNCTIONS = frozenset(
    "all any argmax argmin average clip concatenate cumprod cumsum expand_dims flip mean median "
    "max min amax amin moveaxis nan_to_num nanmax nanmin nansum prod ravel reshape roll round sort "
    "squeeze stack std sum swapaxes take transpose tril triu var where diff dot zeros_like "
    "ones_like".split()
)
"""Permitted NumPy functions that are not elementwise; all elementwise functions are permitted."""
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
_BINARY_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY_OPERATORS: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: np.logical_not,
}
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def evaluate(text: str, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """Evaluates one formula, or several formulas separated by commas.

    Args:
        text: the formula. It consists of numbers, names, operators, indices, and calls of NumPy
            functions with or without ``np.``.
        names: dict from each name in the formula to an array or the value of an attribute.

    Raises:
        InputError: `text` is not a formula, or NumPy rejects the arguments of an operation.
    """
    tree = parse_formula(text)
    try:
        with np.errstate(all="ignore"):
            found = _evaluate_node(tree, names)
    except (RecursionError, MemoryError) as error:
        raise formula_error(text) from error
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise InputError(
            f"the formula cannot be computed: {error}", place=_PLACE, got=repr(text)
        ) from error
    return found if isinstance(found, tuple) else (found,)


def _evaluate_node(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, type(None))):
        return node.value
    if isinstance(node, ast.Name):
        return _look_up_name(node.id, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY_OPERATORS:
        return _BINARY_OPERATORS[type(node.op)](
            _evaluate_operand(node.left, names), _evaluate_operand(node.right, names)
        )
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY_OPERATORS:
        return _UNARY_OPERATORS[type(node.op)](_evaluate_node(node.operand, names))
    if isinstance(node, ast.Compare) and all(type(one) in _COMPARISONS for one in node.ops):
        return _evaluate_comparison(node, names)
    if isinstance(node, ast.IfExp):
        return np.where(
            _evaluate_node(node.test, names),
            _evaluate_node(node.body, names),
            _evaluate_node(node.orelse, names),
        )
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_evaluate_node(item, names) for item in node.elts)
    if isinstance(node, ast.Subscript):
        return np.asarray(_evaluate_node(node.value, names))[_evaluate_index(node.slice, names)]
    if isinstance(node, ast.Call):
        return _evaluate_call(node, names)
    raise _unsupported_error(node)


def _evaluate_operand(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Evaluates an operand; converts integers to floats, so that nested powers overflow to inf."""
    found = _evaluate_node(node, names)
    if isinstance(found, int) and not isinstance(found, bool):
        return np.float64(found)
    return found


def _evaluate_comparison(node: ast.Compare, names: Mapping[str, Any]) -> Any:
    values = [_evaluate_node(item, names) for item in (node.left, *node.comparators)]
    found: Any = True
    for one, first, second in zip(node.ops, values, values[1:], strict=False):
        found = np.logical_and(found, _COMPARISONS[type(one)](first, second))
    return found


def _evaluate_index(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Slice):
        return slice(
            *(
                None if part is None else _evaluate_node(part, names)
                for part in (node.lower, node.upper, node.step)
            )
        )
    if isinstance(node, ast.Tuple):
        return tuple(_evaluate_index(item, names) for item in node.elts)
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return Ellipsis
    return _evaluate_node(node, names)


def _evaluate_call(node: ast.Call, names: Mapping[str, Any]) -> Any:
    function = node.func
    if (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in ("np", "numpy")
    ):
        name = function.attr
    elif isinstance(function, ast.Name):
        name = function.id
    else:
        raise _unsupported_error(function)
    keywords = {
        one.arg: _evaluate_node(one.value, names)
        for one in node.keywords
        if one.arg in ("axis", "keepdims", "axes", "ddof")
    }
    if len(keywords) < len(node.keywords):
        raise InputError(
            "unsupported argument in the formula",
            place=_PLACE,
            got=ast.unparse(node),
            expected="axis, keepdims",
        )
    return _function(name)(*(_evaluate_node(item, names) for item in node.args), **keywords)


def _function(name: str) -> Callable[..., Any]:
    if name == "erf":
        return np.vectorize(math.erf, otypes=[np.float64])
    if name == "sigmoid":
        return lambda x: 1 / (1 + np.exp(-x))
    found = getattr(np, name, None) if name.isascii() and not name.startswith("_") else None
    if isinstance(found, np.ufunc) or (name in OTHER_FUNCTIONS and callable(found)):
        return found
    raise InputError(
        f"unknown function {name} in the formula",
        place=_PLACE,
        expected="an elementwise function or a reduction of NumPy, such as exp, where or sum",
    )


def _look_up_name(name: str, names: Mapping[str, Any]) -> Any:
    if name in names:
        return names[name]
    if name in CONSTANTS:
        return CONSTANTS[name]
    raise InputError(
        f"the formula names {name}, which is neither an array nor an attribute",
        place=_PLACE,
        expected=", ".join(names),
        remedy=suggest_name(name, names),
    )


def _unsupported_error(node: ast.expr) -> InputError:
    return InputError(
        "formulas are made of numbers, arrays, attributes, operators and NumPy functions only",
        place=_PLACE,
        got=repr(ast.unparse(node)),
        remedy=f"Write a method as a function: {node.attr}({ast.unparse(node.value)}, …)"
        if isinstance(node, ast.Attribute)
        else None,
    )
