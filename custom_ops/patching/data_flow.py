"""Computes reaching definitions and the readers of names (def-use chains) in a function body."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Definition:
    """A definition of a name.

    Attributes:
        name: the name that is defined.
        value: the assigned expression. None for tuple unpacking, loop targets and arguments.
        statement: the statement that assigns. None for an argument.
    """

    name: str
    value: ast.expr | None
    statement: ast.stmt | None


_PARTS = (
    ast.IfExp,
    ast.BoolOp,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_WORK = (ast.Call, ast.BinOp)
_Names = dict[str, frozenset[Definition]]


class Flow:
    """Reaching definitions of a list of statements.

    Attributes:
        statements: the analysed statements.
        parent: dict from the id of a node to its parent node.
        block: dict from the id of a statement to the list of statements that contains this
            statement.
        reaching: dict from the id of each name node that is read to the reaching definitions.
        readers: dict from a definition to the name nodes that read it.
    """

    def __init__(self, statements: list[ast.stmt], arguments: Sequence[str]):
        self.statements = statements
        self.parent: dict[int, ast.AST] = {}
        self.block: dict[int, list[ast.stmt]] = {}
        self.reaching: dict[int, frozenset[Definition]] = {}
        self.readers: dict[Definition, list[ast.Name]] = {}
        self._made: dict[tuple[int, str], Definition] = {}
        self._index_statements(statements)
        names: _Names = {
            name: frozenset({Definition(name, None, None)}) for name in ("self", *arguments)
        }
        self._run(statements, names)

    def _index_statements(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.block[id(statement)] = statements
            for node in ast.walk(statement):
                for child in ast.iter_child_nodes(node):
                    self.parent[id(child)] = node
            for inner in _blocks(statement):
                self._index_statements(inner)

    def _run(self, statements: Sequence[ast.stmt], names: _Names) -> bool:
        """Processes statements in order. Returns whether control can reach the end of the list."""
        return all(self._step(one, names) for one in statements)

    def _step(self, statement: ast.stmt, names: _Names) -> bool:
        if isinstance(statement, ast.If):
            self._read(statement.test, names)
            first, second = dict(names), dict(names)
            on = [
                branch
                for branch, block in ((first, statement.body), (second, statement.orelse))
                if self._run(block, branch)
            ]
            _merge(names, on)
            return bool(on)
        if isinstance(statement, (ast.For, ast.While)):
            self._read(statement.iter if isinstance(statement, ast.For) else statement.test, names)
            for _ in range(3):  # several passes, for loop-carried definitions
                inside = dict(names)
                if isinstance(statement, ast.For):
                    self._set(statement.target, None, statement, inside)
                self._run(statement.body, inside)
                _merge(names, [dict(names), inside])
            self._run(statement.orelse, names)
            return True
        if _blocks(statement):  # with, try, nested function: assumes that each block may run or not
            self._read(statement, names)
            for block in _blocks(statement):
                inside = dict(names)
                self._run(block, inside)
                _merge(names, [dict(names), inside])
            return True
        self._read(statement, names)
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._set(target, statement.value, statement, names)
        elif isinstance(statement, ast.AnnAssign):
            self._set(statement.target, statement.value, statement, names)
        elif isinstance(statement, ast.AugAssign):
            self._set(statement.target, self._augmented_sum(statement, names), statement, names)
        return not isinstance(statement, (ast.Return, ast.Raise))

    def _augmented_sum(self, statement: ast.AugAssign, names: _Names) -> ast.expr | None:
        """Returns the expression x + y for x += y, and correspondingly for other operators."""
        if not isinstance(statement.target, ast.Name):
            return None
        known = self._made.get((id(statement), statement.target.id))
        if known is None:
            left = ast.Name(statement.target.id, ast.Load())
            value = ast.BinOp(left, statement.op, statement.value)
            self.parent[id(left)], self.parent[id(value)] = value, statement
        else:
            assert isinstance(known.value, ast.BinOp)
            value = known.value
        self._read(value.left, names)
        return value

    def _set(
        self, target: ast.expr, value: ast.expr | None, statement: ast.stmt, names: _Names
    ) -> None:
        if isinstance(target, ast.Name):
            key = (id(statement), target.id)
            if key not in self._made:
                self._made[key] = Definition(target.id, value, statement)
            names[target.id] = frozenset({self._made[key]})
        elif isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
            for one in ast.iter_child_nodes(target):
                if isinstance(one, ast.expr):
                    self._set(one, None, statement, names)

    def _read(self, node: ast.AST, names: _Names) -> None:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                found = self.reaching.get(id(one), frozenset()) | names.get(one.id, frozenset())
                for definition in found:
                    readers = self.readers.setdefault(definition, [])
                    if all(one is not other for other in readers):
                        readers.append(one)
                self.reaching[id(one)] = found

    def origin(self, node: ast.expr) -> ast.expr:
        """Returns the expression that defines a name.

        If this expression is again a name, the definition of that name is followed in turn. A name
        without exactly one known definition is returned unchanged. A node that is not a name is
        also returned unchanged.
        """
        while isinstance(node, ast.Name):
            found = self.reaching.get(id(node), frozenset())
            (only,) = found if len(found) == 1 else (None,)
            if only is None or only.value is None:
                return node
            node = only.value
        return node

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """Returns the statement that contains a node."""
        while id(node) not in self.block:
            node = self.parent[id(node)]
        assert isinstance(node, ast.stmt)
        return node

    def is_conditional(self, node: ast.AST) -> bool:
        """Whether one execution of the statement may evaluate the node zero or several times."""
        while id(node) not in self.block:
            node = self.parent[id(node)]
            if isinstance(node, _PARTS):
                return True
        return False

    def only_reader(self, node: ast.expr) -> tuple[ast.AST, ast.expr] | None:
        """Returns the only consumer of the value of `node`, as a pair (consumer, operand).

        The consumer is the AST node that uses the value. The operand is the child of the consumer
        that has the value. If the value is assigned to a name, the operand is the expression that
        reads the name. Otherwise the operand is `node` itself. The method returns None if the value
        has several consumers. It also returns None if the use is conditional, or is in another
        block of statements.
        """
        home = self.block[id(self.statement_of(node))]
        while True:
            parent = self.parent[id(node)]
            if not isinstance(parent, (ast.Assign, ast.AugAssign)):
                return parent, node
            if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
                return None
            if not isinstance(parent.targets[0], ast.Name):
                return None
            definition = self._made.get((id(parent), parent.targets[0].id))
            readers = self.readers.get(definition, []) if definition else []
            if len(readers) != 1 or self.reaching[id(readers[0])] != frozenset({definition}):
                return None
            node = readers[0]
            if id(node) not in self.parent or isinstance(self.parent[id(node)], ast.AugAssign):
                return None
            if self.is_conditional(node) or self.block[id(self.statement_of(node))] is not home:
                return None

    def nodes(self) -> Iterator[ast.AST]:
        """Yields every node of the statements."""
        for statement in self.statements:
            yield from ast.walk(statement)


def _merge(names: _Names, branches: Sequence[_Names]) -> None:
    merged: _Names = {}
    for branch in branches:
        for name, found in branch.items():
            merged[name] = merged.get(name, frozenset()) | found
    names.clear()
    names.update(merged)


def _blocks(statement: ast.AST) -> list[list[ast.stmt]]:
    found = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(statement, "handlers", [])]
    return [one for one in found if isinstance(one, list) and one]


def eliminate_dead_assignments(
    statements: list[ast.stmt], arguments: Sequence[str]
) -> list[ast.stmt]:
    """Removes assignments to unread names; keeps values that contain calls or binary operators."""
    while True:
        flow = Flow(statements, arguments)
        read = {id(one.statement) for one, readers in flow.readers.items() if readers}
        drop = {
            id(node)
            for node in flow.nodes()
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and len(node.targets) == 1
            and id(node) not in read
            and not any(isinstance(one, _WORK) for one in ast.walk(node.value))
        }
        if not drop:
            return statements
        statements = _filter_statements(statements, drop)


def _filter_statements(statements: list[ast.stmt], drop: Any) -> list[ast.stmt]:
    kept = [one for one in statements if id(one) not in drop]
    for one in kept:
        for name in ("body", "orelse"):
            inner = getattr(one, name, None)
            if isinstance(inner, list) and inner:
                left = _filter_statements(inner, drop)
                setattr(one, name, left or ([ast.Pass()] if name == "body" else []))
    return kept
