"""Changes of what a Cell does, and the class of a Cell that does it."""

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

from custom_ops.patching.inlinable_calls import AS_WRITTEN
from custom_ops.patching.source import Body


@dataclass
class Edit:
    """One change of the source of a Cell.

    Attributes:
        name: under which the operator becomes a part of the Cell.
        before: what is replaced: Cells, or names of functions.
        cell: the operator.
        expressions: number of a node → what stands for it.
        statements: number of a statement → those that stand for it.
        ahead: number of a statement → those that come before it.
        guards: conditions under which it holds.
        takes_mask: whether a mask is added that gets no gradient.
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
    """Statements with edits, beside the ones as they were."""

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
        return [one for one in made if not _does_nothing(one)]

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


def _does_nothing(statement: ast.stmt) -> bool:
    """x = x"""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id


def written(body: Body, edits: Sequence[Edit]) -> str:
    """The source of `construct` with edits; for other calls than those it was read for it does what it did."""
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
        lines += [f"    if not ({text}):", f"        return self.{AS_WRITTEN}({passed})"]
    statements = _Writer(edits).block(body.statements)
    module = ast.fix_missing_locations(ast.Module(statements or [ast.Pass()], []))
    inner = ast.unparse(module).splitlines()
    return "\n".join([f"def construct({arguments}):", *lines, *(f"    {one}" for one in inner), ""])


@cache
def _kept() -> Any:
    return tempfile.TemporaryDirectory(prefix="patched-")


def _directory() -> Path:
    """For sources; it ends with the process."""
    return Path(_kept().name)


_classes: dict[tuple[type, str], type] = {}


def class_with(kind: type, function: Any, source: str) -> type:
    """A class like that of a Cell, with another `construct`, whose source MindSpore finds.

    Args:
        kind: of the Cell.
        function: its `construct`, which stays under another name.
        source: of the new one.
    """
    if (kind, source) not in _classes:
        mark = hashlib.sha256(source.encode()).hexdigest()[:12]
        # MindSpore reads sources from files
        file = str(_directory() / f"{function.__module__}.{function.__qualname__}.{mark}.py")
        Path(file).write_text(source, "utf-8")
        # the defaults are those of the function that was there
        code = compile(_without_defaults(source), file, "exec")
        own = next(one for one in code.co_consts if hasattr(one, "co_code"))
        made = FunctionType(own, function.__globals__, "construct", function.__defaults__)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__module__, made.__qualname__ = function.__module__, function.__qualname__
        members: Mapping[str, Any] = {
            "construct": made,
            AS_WRITTEN: function,
            "__module__": kind.__module__,
            "__doc__": kind.__doc__,
        }
        new = type(kind.__name__, (kind,), dict(members))
        new.__qualname__ = kind.__qualname__
        _classes[kind, source] = new
    return _classes[kind, source]


def _without_defaults(source: str) -> ast.Module:
    tree = ast.parse(source)
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    function.args.defaults = []
    function.args.kw_defaults = [None] * len(function.args.kwonlyargs)
    for one in (*function.args.args, *function.args.kwonlyargs):
        one.annotation = None
    return tree
