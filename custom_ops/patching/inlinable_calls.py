"""What a call in the source of a Cell runs that can be written in its place: own methods, functions, Cells without weights."""

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
from custom_ops.patching.partial_evaluation import PLAIN, Known, Scope, is_of_framework
from custom_ops.patching.rules import is_plain

AS_WRITTEN = "construct_as_written"
"""Under this name a Cell with another `construct` keeps its own."""


class Unreadable(Exception):
    """Why the source of a Cell is not read."""


@dataclass(frozen=True)
class Callee:
    """A function with a source.

    Attributes:
        name: of it.
        function: it.
        tree: its source.
        receiver: what stands for its `self`; None for one that is no method.
        arguments: name → what it is given, in the order of its arguments.
    """

    name: str
    function: Any
    tree: ast.FunctionDef
    receiver: ast.expr | None
    arguments: Mapping[str, ast.expr]


def callee_of(call: ast.Call, scope: Scope, names: Mapping[str, Known]) -> Callee | None:
    """What a call runs; None where that is not known, or stays a call."""
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    found = _function_of(call.func, scope, names)
    if found is None:
        return None
    function, receiver = found
    try:
        tree = parsed(function, method=receiver is not None)
        own = [None] if receiver is not None else []
        keywords = {str(one.arg): one.value for one in call.keywords}
        given = inspect.signature(function).bind(*own, *call.args, **keywords).arguments
    except (Unreadable, TypeError):
        return None
    arguments: dict[str, ast.expr] = {}
    for name in arguments_of(tree, method=receiver is not None):
        default = inspect.signature(function).parameters[name].default
        if name not in given and not isinstance(default, PLAIN):
            return None
        arguments[name] = given[name] if name in given else ast.Constant(default)
    return Callee(function.__name__, function, tree, receiver, arguments)


def _function_of(
    node: ast.expr, scope: Scope, names: Mapping[str, Known]
) -> tuple[Any, ast.expr | None] | None:
    """A function, and what its `self` is; None where it has none."""
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
                holder.value is scope.cell or is_own(function)
            ):
                return function, None if isinstance(kept, staticmethod) else node.value
    known = scope.evaluate(node, names)
    if known is None:
        return None
    if isinstance(known.value, FunctionType) and is_own(known.value):
        return known.value, None
    if isinstance(known.value, nn.Cell) and _is_transparent(known.value):
        kind = type(known.value)
        return getattr(kind, AS_WRITTEN, kind.construct), node
    return None


def is_own(function: Any) -> bool:
    """Whether somebody wrote it who uses MindSpore."""
    home = (getattr(function, "__module__", "") or "").split(".")[0]
    return not is_of_framework(function) and home not in ("numpy", "custom_ops")


def _is_transparent(cell: Any) -> bool:
    """Whether a Cell is only a way to write down what another does: it has no weights, and no attention of its own."""
    if not is_open(cell) or not is_plain(cell) or isinstance(cell, nn.MultiheadAttention):
        return False
    parts = [part for _, part in cell.cells_and_names()]
    return not any(isinstance(part, AttentionCore) for part in parts) and not list(
        cell.get_parameters()
    )


def plain_function(kind: type, name: str) -> Any:
    """A method as it was written.

    Raises:
        Unreadable: there is none, or it is more than a function.
    """
    found = inspect.getattr_static(kind, name, None)
    if not isinstance(found, FunctionType):
        raise Unreadable(f"{name} is no plain method")
    return found


def parsed(function: Any, *, method: bool = True) -> ast.FunctionDef:
    """The source of a function.

    Raises:
        Unreadable: there is none, or it is unusual.
    """
    if hasattr(function, "__wrapped__"):
        raise Unreadable(f"{function.__name__} is no plain method")
    if function.__code__.co_freevars:
        raise Unreadable(f"{function.__name__} refers to what is around it")
    try:
        read = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError) as error:
        raise Unreadable(f"there is no source of {function.__qualname__}") from error
    tree = read.body[0] if read.body else None
    if isinstance(tree, ast.FunctionDef) and [ast.unparse(one) for one in tree.decorator_list] == [
        "staticmethod"
    ]:
        tree.decorator_list = []
    if not isinstance(tree, ast.FunctionDef) or tree.decorator_list:
        raise Unreadable(f"{function.__qualname__} is decorated")
    arguments = tree.args
    own = bool(arguments.args) and arguments.args[0].arg == "self"
    if arguments.posonlyargs or own is not method:
        raise Unreadable(f"{function.__qualname__} has unusual arguments")
    if arguments.vararg or arguments.kwarg:
        raise Unreadable(f"{function.__qualname__} takes any number of arguments")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.Yield, ast.Await, ast.NamedExpr)):
            raise Unreadable(f"{function.__qualname__} is unusual")
    return tree


def arguments_of(tree: ast.FunctionDef, *, method: bool = True) -> list[str]:
    """Names of the arguments but for `self`."""
    first = 1 if method else 0
    return [one.arg for one in (*tree.args.args[first:], *tree.args.kwonlyargs)]


def is_open(cell: Any) -> bool:
    """Whether a Cell is one whose `construct` is read: not one of MindSpore's layers of one operator, nor ours."""
    home = type(cell).__module__
    if isinstance(cell, (nn.SequentialCell, nn.CellList)) or home.startswith("custom_ops"):
        return False
    return not home.startswith("mindspore.nn") or home == "mindspore.nn.layer.transformer"
