"""Defines edits of a Cell's source, and builds the class with the edited source."""

from __future__ import annotations

import ast
import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from custom_ops.patching.inlinable_calls import ORIGINAL_CONSTRUCT
from custom_ops.patching.source import Body


@dataclass
class Edit:
    """One edit of a Cell's source.

    Attributes:
        name: name that the fused operator gets as a child of the Cell.
        before: the replaced Cells, or the names of the replaced functions.
        cell: the fused operator.
        expressions: dict from the id of a node to the replacement expression.
        statements: dict from the id of a statement to the replacement statements.
        ahead: dict from the id of a statement to the statements that are inserted before it.
        guards: conditions under which the edit is valid.
        takes_mask: whether the fused operator is an attention with a mask that is added to the
            attention scores. The operator computes no gradient of this mask.
    """

    name: str
    before: tuple[Any, ...]
    cell: Any
    expressions: dict[int, ast.expr] = field(default_factory=dict)
    statements: dict[int, list[ast.stmt]] = field(default_factory=dict)
    ahead: dict[int, list[ast.stmt]] = field(default_factory=dict)
    guards: list[ast.expr] = field(default_factory=list)
    takes_mask: bool = False


NOT_TRAINING = ast.parse("not self.training", mode="eval").body


class _Writer:
    """Copies statements and applies edits to the copy; the original statements do not change."""

    def __init__(self, edits: Sequence[Edit]):
        self.expressions: dict[int, ast.expr] = {}
        self.statements: dict[int, list[ast.stmt]] = {}
        self.ahead: dict[int, list[ast.stmt]] = {}
        for edit in edits:
            self.expressions |= edit.expressions
            self.statements |= edit.statements
            self.ahead |= edit.ahead

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for one in statements:
            made += map(self.node, self.ahead.get(id(one), []))
            standing = self.statements.get(id(one))
            made += [self.node(one)] if standing is None else map(self.node, standing)
        return [one for one in made if not _is_self_assignment(one)]

    def node(self, node: Any) -> Any:
        if not isinstance(node, ast.AST):
            return node
        if id(node) in self.expressions:
            return self.node(self.expressions[id(node)])
        made = type(node)()
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    value = self.block(value) or ([ast.Pass()] if name == "body" else [])
                else:
                    value = [self.node(one) for one in value]
            else:
                value = self.node(value)
            setattr(made, name, value)
        return made


def _is_self_assignment(statement: ast.stmt) -> bool:
    """Whether the statement assigns a name to itself, as in ``x = x``."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id


def write_source(body: Body, edits: Sequence[Edit]) -> str:
    """Returns the source of the edited `construct`.

    The edited `construct` calls the original `construct` if a guard is false.
    """
    tree = body.tree
    arguments = ast.unparse(tree.args)
    passed = ", ".join(
        [one.arg for one in tree.args.args[1:]]
        + [f"{one.arg}={one.arg}" for one in tree.args.kwonlyargs]
    )
    texts = [ast.unparse(one) for one in body.guards]
    texts += [ast.unparse(guard) for edit in edits for guard in edit.guards]
    lines = []
    for text in dict.fromkeys(texts):
        lines += [f"    if not ({text}):", f"        return self.{ORIGINAL_CONSTRUCT}({passed})"]
    statements = _Writer(edits).block(body.statements)
    module = ast.fix_missing_locations(ast.Module(statements or [ast.Pass()], []))
    inner = ast.unparse(module).splitlines()
    return "\n".join([f"def construct({arguments}):", *lines, *(f"    {one}" for one in inner), ""])


@cache
def _temporary_directory() -> Any:
    return tempfile.TemporaryDirectory(prefix="patched-")


def _source_directory() -> Path:
    """Returns the directory of generated sources; it is deleted when the process ends."""
    return Path(_temporary_directory().name)


_classes: dict[tuple[type, str], type] = {}


def build_class(kind: type, function: Any, source: str) -> type:
    """Builds a subclass of a Cell's class with a new `construct`.

    The source is written to a file, because MindSpore reads the sources of functions from files.

    Args:
        kind: the Cell's class.
        function: the original `construct`; the subclass stores it as `ORIGINAL_CONSTRUCT`.
        source: source of the new `construct`.
    """
    if (kind, source) not in _classes:
        mark = hashlib.sha256(source.encode()).hexdigest()[:12]
        # a file, because MindSpore reads sources from files
        file = str(_source_directory() / f"{function.__module__}.{function.__qualname__}.{mark}.py")
        Path(file).write_text(source, "utf-8")
        # defaults are removed here and taken from the original function below
        code = compile(_remove_defaults(source), file, "exec")
        own = next(one for one in code.co_consts if hasattr(one, "co_code"))
        made = FunctionType(own, function.__globals__, "construct", function.__defaults__)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__module__, made.__qualname__ = function.__module__, function.__qualname__
        members: Mapping[str, Any] = {
            "construct": made,
            ORIGINAL_CONSTRUCT: function,
            "__module__": kind.__module__,
            "__doc__": kind.__doc__,
        }
        new = type(kind.__name__, (kind,), dict(members))
        new.__qualname__ = kind.__qualname__
        _classes[kind, source] = new
    return _classes[kind, source]


def _remove_defaults(source: str) -> ast.Module:
    tree = ast.parse(source)
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    function.args.defaults = []
    function.args.kw_defaults = [None] * len(function.args.kwonlyargs)
    for one in (*function.args.args, *function.args.kwonlyargs):
        one.annotation = None
    return tree
