"""Normalises a Cell's `construct`: resolves known conditions, unrolls loops and inlines calls."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

from custom_ops.core.framework import nn, ops
from custom_ops.patching.inlinable_calls import (
    arguments_of,
    callee_of,
    parse_function,
    plain_method,
)
from custom_ops.patching.partial_evaluation import (
    PLAIN_TYPES,
    KnownValue,
    NotNone,
    Scope,
    abstract_argument,
    condition,
)

CONDITIONAL_NODES = (
    ast.BoolOp,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
"""Expressions whose subexpressions may be evaluated zero or several times."""
LONGEST_LOOP = 64
"""Maximum number of iterations of a loop that is unrolled."""
DEPTH = 6
"""Maximum depth of inlining."""


class Body:
    """Normalised `construct` of a Cell; it is valid only for calls that satisfy `guards`.

    Attributes:
        cell: the Cell that `construct` belongs to.
        function: the `construct` of the Cell's class.
        tree: original syntax tree of `construct`.
        scope: scope of the names in `construct`.
        statements: the normalised statements.
        guards: conditions on arguments and attributes, as expressions. The normalised statements
            are valid only if all guards are true.
    """

    def __init__(self, cell: Any, given: Mapping[str, Any] | None):
        self.cell, self.function = cell, plain_method(type(cell), "construct")
        self.tree = parse_function(self.function)
        self._count, self._given = 0, {}
        self._used: set[str] = set()
        names: dict[str, KnownValue] = {}
        for name in arguments_of(self.tree):
            if given is not None and name in given:
                self._given[name] = given[name]
                names[name] = KnownValue(abstract_argument(given[name]).value, frozenset({name}))
        self._local = _assigned_names(self.tree.body) | set(arguments_of(self.tree))
        self.scope = Scope(cell, self.function, frozenset())
        self._grow(self._local)
        body = copy.deepcopy(self.tree.body)
        self.statements, _ = self._block(body, names, 0, inside=False)
        self.guards = [self._guard(name) for name in sorted(self._used)]

    def _grow(self, names: set[str]) -> None:
        self.scope.local = self.scope.local | frozenset(names)

    def _guard(self, name: str) -> ast.expr:
        own = name.startswith("self.")
        return condition(name, self.scope.looked_at[name] if own else self._given[name])

    def _decide(self, test: ast.expr, names: Mapping[str, KnownValue]) -> bool | None:
        known = self.scope.evaluate(test, names)
        if known is None or known.truth is None:
            return None
        self._used |= known.given
        return known.truth

    def _block(
        self, statements: list[ast.stmt], names: dict[str, KnownValue], depth: int, *, inside: bool
    ) -> tuple[list[ast.stmt], bool]:
        """Normalises the statements of a block.

        Returns the new statements, and whether all paths end with a return or raise.
        """
        made: list[ast.stmt] = []
        for statement in statements:
            more, ended = self._statement(statement, names, depth, inside=inside)
            made += more
            if ended:
                return made, True
        return made, False

    def _statement(
        self, statement: ast.stmt, names: dict[str, KnownValue], depth: int, *, inside: bool
    ) -> tuple[list[ast.stmt], bool]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return [], False
        if isinstance(statement, ast.If):
            return self._resolve_if(statement, names, depth, inside=inside)
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.AnnAssign)):
            return self._simple_statement(statement, names, depth)
        steps = self._unroll_loop(statement, names) if isinstance(statement, ast.For) else None
        if steps is not None:
            return self._block(steps, names, depth, inside=inside)
        for name in _assigned_names([statement]):
            names.pop(name, None)
        if isinstance(statement, (ast.For, ast.While)):
            statement.body, _ = self._block(statement.body, names, DEPTH, inside=True)
            for name in _assigned_names([statement]):
                names.pop(name, None)
        return [statement], isinstance(statement, ast.Raise)

    def _unroll_loop(
        self, statement: ast.For, names: Mapping[str, KnownValue]
    ) -> list[ast.stmt] | None:
        """Unrolls a loop over Cells or over a constant range; returns None for any other loop."""
        target = statement.target
        inner = [node for part in statement.body for node in ast.walk(part)]
        if statement.orelse or not isinstance(target, ast.Name):
            return None
        if any(isinstance(node, (ast.Break, ast.Continue, ast.Return)) for node in inner):
            return None
        over = statement.iter
        items: list[ast.expr] | None = None
        known = self.scope.evaluate(over, names)
        if known is not None and isinstance(known.value, (nn.CellList, nn.SequentialCell)):
            items = [
                ast.Subscript(over, ast.Constant(one), ast.Load())
                for one in range(len(known.value))
            ]
        elif isinstance(over, ast.Call) and ast.unparse(over.func) == "range" and not over.keywords:
            bounds = [self.scope.evaluate(one, names) for one in over.args]
            if all(one is not None and type(one.value) is int for one in bounds):
                items = [ast.Constant(one) for one in range(*(one.value for one in bounds if one))]
                self._used |= frozenset().union(*(one.given for one in bounds if one))
        if items is None or not 0 < len(items) <= LONGEST_LOOP:
            return None
        if any(
            isinstance(node, ast.Name)
            and node.id == target.id
            and not isinstance(node.ctx, ast.Load)
            for node in inner
        ):
            return None
        made: list[ast.stmt] = []
        for item in items:
            made.append(assignment(target.id, copy.deepcopy(item)))
            made += [_substitute(copy.deepcopy(part), target.id, item) for part in statement.body]
        return made

    def _resolve_if(
        self, statement: ast.If, names: dict[str, KnownValue], depth: int, *, inside: bool
    ) -> tuple[list[ast.stmt], bool]:
        truth = self._decide(statement.test, names)
        if truth is not None:
            taken = statement.body if truth else statement.orelse
            return self._block(taken, names, depth, inside=inside)
        before, statement.test = self._inline_expression(statement.test, names, depth)
        first, second = dict(names), dict(names)
        statement.body, ended = self._block(statement.body, first, depth, inside=True)
        statement.orelse, other = self._block(statement.orelse, second, depth, inside=True)
        alive = [one for one, end in ((first, ended), (second, other)) if not end]
        names.clear()
        if alive:
            names.update(
                {
                    name: value
                    for name, value in alive[0].items()
                    if all(one.get(name) == value for one in alive)
                }
            )
        statement.body = statement.body or [ast.Pass()]
        return [*before, statement], ended and other

    def _simple_statement(
        self, statement: Any, names: dict[str, KnownValue], depth: int
    ) -> tuple[list[ast.stmt], bool]:
        before: list[ast.stmt] = []
        if statement.value is not None:
            before, statement.value = self._inline_expression(statement.value, names, depth)
        if isinstance(statement, ast.Return):
            return [*before, statement], True
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                known = self.scope.evaluate(statement.value, names)
                self._learn(target.id, known, names, statement.value)
                return [*before, statement], False
            pairs = _split(target, statement.value)
            if pairs:
                temporary = [self._fresh_name("part") for _ in pairs]
                made = [
                    assignment(name, value)
                    for name, (_, value) in zip(temporary, pairs, strict=True)
                ]
                made += [
                    assignment(goal, ast.Name(name, ast.Load()))
                    for name, (goal, _) in zip(temporary, pairs, strict=True)
                ]
                rest: list[ast.stmt] = []
                for one in made:
                    rest += self._simple_statement(one, names, DEPTH)[0]
                return [*before, *rest], False
        for name in _assigned_names([statement]):
            names.pop(name, None)
        return [*before, statement], False

    def _learn(
        self,
        name: str,
        known: KnownValue | None,
        names: dict[str, KnownValue],
        source: ast.expr | None = None,
    ) -> None:
        names.pop(name, None)
        if known is None:
            return
        if isinstance(known.value, PLAIN_TYPES) or known.value is NotNone:
            names[name] = known
        elif source is not None and isinstance(known.value, (nn.Cell, ops.Primitive)):
            names[name] = KnownValue(known.value, known.given, known.source or source)

    def _fresh_name(self, name: str) -> str:
        self._count += 1
        made = f"{name}_{self._count}"
        while made in self.scope.local or made in self.function.__globals__:
            self._count += 1
            made = f"{name}_{self._count}"
        self._grow({made})
        return made

    def _inline_expression(
        self, value: ast.expr, names: dict[str, KnownValue], depth: int
    ) -> tuple[list[ast.stmt], ast.expr]:
        """Inlines the calls in an expression.

        The method returns the inlined statements, and an expression that contains the results
        instead of the calls. The caller has to insert the inlined statements before the statement
        with the expression.
        """
        before: list[ast.stmt] = []
        body = self

        class Inside(ast.NodeTransformer):
            def visit_IfExp(self, node: ast.IfExp) -> Any:
                truth = body._decide(node.test, names)
                if truth is None:
                    return node  # calls in conditional branches must not move in front of it
                return self.visit(node.body if truth else node.orelse)

            def visit(self, node: ast.AST) -> Any:
                return node if isinstance(node, CONDITIONAL_NODES) else super().visit(node)

            def visit_Call(self, node: ast.Call) -> Any:
                self.generic_visit(node)
                known = names.get(node.func.id) if isinstance(node.func, ast.Name) else None
                if known is not None and known.source is not None:
                    node.func = copy.deepcopy(known.source)
                made = body._inline_call(node, names, depth) if depth < DEPTH else None
                if made is None:
                    return node
                before.extend(made[0])
                return made[1]

        value = Inside().visit(value)
        return before, value

    def _inline_call(
        self, call: ast.Call, names: dict[str, KnownValue], depth: int
    ) -> tuple[list[ast.stmt], ast.expr] | None:
        """Returns the pair (inlined statements, result), or None if the call cannot be inlined."""
        callee = callee_of(call, self.scope, names)
        if callee is None:
            return None
        tree = callee.tree
        own = _assigned_names(tree.body) | set(callee.arguments)
        if not self._has_same_globals(callee.function, tree, own):
            return None
        fresh = {name: self._fresh_name(f"{callee.name.strip('_')}_{name}") for name in sorted(own)}
        entering: list[ast.stmt] = []
        inner = dict(names)
        for name, argument in callee.arguments.items():
            entering.append(assignment(fresh[name], argument))
            self._learn(fresh[name], self.scope.evaluate(argument, names), inner)
        used = set(self._used)
        statements = [_rename_locals(one, fresh) for one in copy.deepcopy(tree.body)]
        if callee.receiver is not None and not _is_self(callee.receiver):
            statements = [_substitute(one, "self", callee.receiver) for one in statements]
        statements, ended = self._block(statements, inner, depth + 1, inside=False)
        returns = [
            one for part in statements for one in ast.walk(part) if isinstance(one, ast.Return)
        ]
        if not ended or len(returns) != 1 or returns[0] is not statements[-1]:
            self._used = used
            return None
        for name in fresh.values():
            if name in inner:
                names[name] = inner[name]
        return [*entering, *statements[:-1]], returns[0].value or ast.Constant(None)

    def _has_same_globals(self, function: Any, tree: ast.FunctionDef, own: set[str]) -> bool:
        if function.__globals__ is self.function.__globals__:
            return True
        read = {
            node.id for part in tree.body for node in ast.walk(part) if isinstance(node, ast.Name)
        }
        here, there = self.function.__globals__, function.__globals__
        return all(
            here.get(name) is there.get(name) and name not in self.scope.local
            for name in read - own - {"self"}
        )


def _assigned_names(statements: Any) -> set[str]:
    """Returns the names that statements assign."""
    return {
        node.id
        for part in statements
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def assignment(name: str, value: ast.expr) -> ast.Assign:
    """Returns the statement ``name = value``."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _substitute(statement: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
    """Replaces each occurrence of a name in a statement by an expression."""

    class Putting(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return copy.deepcopy(value) if node.id == name else node

    return Putting().visit(statement)


def _split(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Returns the pairs (a, x), (b, y) of an assignment a, b = x, y.

    For any other statement, the result is an empty list.
    """
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return []
    if len(target.elts) != len(value.elts):
        return []
    names = [one.id for one in target.elts if isinstance(one, ast.Name)]
    if len(names) != len(value.elts) or any(isinstance(one, ast.Starred) for one in value.elts):
        return []
    return list(zip(names, value.elts, strict=True))


def _rename_locals(statement: ast.stmt, fresh: Mapping[str, str]) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in fresh:
            node.id = fresh[node.id]
    return statement
