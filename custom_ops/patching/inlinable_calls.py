"""Resolves calls that can be inlined: methods of the Cell, functions, and Cells without weights."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from custom_ops.core.framework import nn
from custom_ops.patching.attention_core import AttentionCore
from custom_ops.patching.partial_evaluation import PLAIN_TYPES, KnownValue, Scope, is_of_framework
from custom_ops.patching.rules import is_plain

ORIGINAL_CONSTRUCT = "construct_as_written"
"""Name that the original `construct` has in the class of a patched Cell."""


class UnreadableSource(Exception):
    """Raised if the source of a function cannot be analysed; the message is the reason."""


@dataclass(frozen=True)
class Callee:
    """A called function with its source, and the arguments of the call.

    Attributes:
        name: name of the function.
        function: the called function, as a Python object.
        tree: syntax tree of the function.
        receiver: expression for the `self` of a method. None for a function without `self`.
        arguments: dict from each parameter name to the argument expression, in parameter order.
    """

    name: str
    function: Any
    tree: ast.FunctionDef
    receiver: ast.expr | None
    arguments: Mapping[str, ast.expr]


def callee_of(call: ast.Call, scope: Scope, names: Mapping[str, KnownValue]) -> Callee | None:
    """Returns the callee of a call, or None if the callee is unknown or must not be inlined."""
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    found = _function_of(call.func, scope, names)
    if found is None:
        return None
    function, receiver = found
    try:
        tree = parse_function(function, method=receiver is not None)
        own = [None] if receiver is not None else []
        keywords = {str(one.arg): one.value for one in call.keywords}
        given = inspect.signature(function).bind(*own, *call.args, **keywords).arguments
    except (UnreadableSource, TypeError):
        return None
    arguments: dict[str, ast.expr] = {}
    for name in arguments_of(tree, method=receiver is not None):
        default = inspect.signature(function).parameters[name].default
        if name not in given and not isinstance(default, PLAIN_TYPES):
            return None
        arguments[name] = given[name] if name in given else ast.Constant(default)
    return Callee(function.__name__, function, tree, receiver, arguments)


def _function_of(
    node: ast.expr, scope: Scope, names: Mapping[str, KnownValue]
) -> tuple[Any, ast.expr | None] | None:
    """Returns the pair (called function, expression for the `self` of the function).

    The expression is None for a function without `self`. If the function is unknown or must not be
    inlined, the result is None instead of a pair.
    """
    if isinstance(node, ast.Attribute):
        holder = scope.evaluate(node.value, names)
        if (
            holder is not None
            and isinstance(holder.value, nn.Cell)
            and node.attr not in vars(holder.value)
        ):
            kept = inspect.getattr_static(type(holder.value), node.attr, None)
            function = kept.__func__ if isinstance(kept, staticmethod) else kept
            if isinstance(function, FunctionType) and (
                holder.value is scope.cell or is_user_function(function)
            ):
                return function, None if isinstance(kept, staticmethod) else node.value
    known = scope.evaluate(node, names)
    if known is None:
        return None
    if isinstance(known.value, FunctionType) and is_user_function(known.value):
        return known.value, None
    if isinstance(known.value, nn.Cell) and _is_transparent(known.value):
        kind = type(known.value)
        return getattr(kind, ORIGINAL_CONSTRUCT, kind.construct), node
    return None


def is_user_function(function: Any) -> bool:
    """Whether a function is the user's, not from MindSpore, mindnlp, NumPy or this package."""
    home = (getattr(function, "__module__", "") or "").split(".")[0]
    return not is_of_framework(function) and home not in ("numpy", "custom_ops")


def _is_transparent(cell: Any) -> bool:
    """Whether a Cell can be inlined: it has neither weights nor fused attention."""
    if not is_readable(cell) or not is_plain(cell) or isinstance(cell, nn.MultiheadAttention):
        return False
    parts = [part for _, part in cell.cells_and_names()]
    return not any(isinstance(part, AttentionCore) for part in parts) and not list(
        cell.get_parameters()
    )


def plain_method(kind: type, name: str) -> Any:
    """Returns a method of a class as a Python function.

    Raises:
        UnreadableSource: the method is missing, or is not a Python function.
    """
    found = inspect.getattr_static(kind, name, None)
    if not isinstance(found, FunctionType):
        raise UnreadableSource(f"{name} is not a plain method")
    return found


def parse_function(function: Any, *, method: bool = True) -> ast.FunctionDef:
    """Returns the syntax tree of a function.

    Raises:
        UnreadableSource: the source is missing, or uses an unsupported construct.
    """
    if hasattr(function, "__wrapped__"):
        raise UnreadableSource(f"{function.__name__} is not a plain method")
    if function.__code__.co_freevars:
        raise UnreadableSource(f"{function.__name__} refers to what is around it")
    try:
        read = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError) as error:
        raise UnreadableSource(f"there is no source of {function.__qualname__}") from error
    tree = read.body[0] if read.body else None
    if isinstance(tree, ast.FunctionDef) and [ast.unparse(one) for one in tree.decorator_list] == [
        "staticmethod"
    ]:
        tree.decorator_list = []
    if not isinstance(tree, ast.FunctionDef) or tree.decorator_list:
        raise UnreadableSource(f"{function.__qualname__} is decorated")
    arguments = tree.args
    own = bool(arguments.args) and arguments.args[0].arg == "self"
    if arguments.posonlyargs or own is not method:
        raise UnreadableSource(f"{function.__qualname__} has unusual arguments")
    if arguments.vararg or arguments.kwarg:
        raise UnreadableSource(f"{function.__qualname__} takes any number of arguments")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.Yield, ast.Await, ast.NamedExpr)):
            raise UnreadableSource(f"{function.__qualname__} is unusual")
    return tree


def arguments_of(tree: ast.FunctionDef, *, method: bool = True) -> list[str]:
    """Returns the parameter names without `self`."""
    first = 1 if method else 0
    return [one.arg for one in (*tree.args.args[first:], *tree.args.kwonlyargs)]


def is_readable(cell: Any) -> bool:
    """Whether `patch` analyses the source of the Cell's `construct`.

    Cells of this package are not analysed. Of MindSpore's layers, only transformer layers are
    analysed.
    """
    home = type(cell).__module__
    if isinstance(cell, (nn.SequentialCell, nn.CellList)) or home.startswith("custom_ops"):
        return False
    return not home.startswith("mindspore.nn") or home == "mindspore.nn.layer.transformer"
