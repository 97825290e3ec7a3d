"""What an expression in the source of a Cell is when the Cell runs, as far as the Cell alone and None or not None tell."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, ms, nn, ops

PLAIN = (type(None), bool, int, float, str)
_Dtype: Any = ms.Type if HAS_MINDSPORE else type(None)
CHANGING = frozenset({"training"})
"""Attributes of a Cell that change after it is made."""


class Something:
    """What is not None, and no more is known."""


@dataclass(frozen=True)
class Known:
    """A value, and what told it.

    Attributes:
        value: or `Something`.
        given: names of arguments of the call, and attributes of the Cell as ``self.name``.
        source: of a name for a layer or primitive: the expression that it stands for.
    """

    value: Any
    given: frozenset[str] = frozenset()
    source: ast.expr | None = None

    @property
    def truth(self) -> bool | None:
        """As a condition; None where that is not known."""
        return bool(self.value) if isinstance(self.value, PLAIN) else None


_COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MADE = frozenset(
    {
        "Add",
        "BatchMatMul",
        "Cast",
        "DType",
        "Div",
        "GELU",
        "GeLU",
        "LeakyReLU",
        "MaskedFill",
        "MatMul",
        "Mul",
        "ReLU",
        "RealDiv",
        "Reshape",
        "Select",
        "Shape",
        "SiLU",
        "Softmax",
        "Sub",
        "Transpose",
    }
)
"""Primitives, and Cells without weights, that may be made where they are called."""
_PURE = (math.sqrt, float, int, bool, abs, min, max)


class Scope:
    """Where the names of a function of a Cell come from.

    Args:
        cell: `self`.
        function: the function, for the names of its module.
        local: names that it sets itself.
    """

    def __init__(self, cell: Any, function: Any, local: frozenset[str]):
        self.cell, self.function, self.local = cell, function, local
        self.looked_at: dict[str, Any] = {}

    def conditions(self, known: Known) -> list[ast.expr]:
        """That the attributes that told it are what they were."""
        names = sorted(name for name in known.given if name.startswith("self."))
        return [condition(name, self.looked_at[name]) for name in names]

    def evaluate(self, node: ast.expr, names: Mapping[str, Known] | None = None) -> Known | None:
        """What the expression is; None where that is not known."""
        names = names or {}
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id, names)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, names)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compare(node, names)
        if isinstance(node, ast.BoolOp):
            return self._both(node, names)
        if isinstance(node, ast.UnaryOp):
            known = self.evaluate(node.operand, names)
            if isinstance(node.op, ast.Not):
                truth = None if known is None else known.truth
                return None if known is None or truth is None else Known(not truth, known.given)
            if isinstance(node.op, ast.USub) and known and type(known.value) in (int, float):
                return Known(-known.value, known.given)
            return None
        if isinstance(node, ast.BinOp):
            return self._together(
                _ARITHMETIC.get(type(node.op)), (node.left, node.right), (int, float), names
            )
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._together(lambda *every: tuple(every), node.elts, PLAIN, names)
        if isinstance(node, ast.Subscript):
            return self._part(node, names)
        if isinstance(node, ast.Call):
            return self._call(node, names)
        return None

    def _name(self, name: str, names: Mapping[str, Known]) -> Known | None:
        if name in names:
            return names[name]
        if name == "self":
            return Known(self.cell)
        if name in self.local:
            return None
        for space in (self.function.__globals__, vars(builtins)):
            if name in space:
                return Known(space[name])
        return None

    def _attribute(self, node: ast.Attribute, names: Mapping[str, Known]) -> Known | None:
        known = self.evaluate(node.value, names)
        if known is None or not (inspect.ismodule(known.value) or isinstance(known.value, nn.Cell)):
            return None
        cell = known.value if isinstance(known.value, nn.Cell) else None
        kind: Any = type(cell)
        if cell is not None and node.attr in CHANGING | set_later(kind):
            return None
        missing = object()
        value = getattr(known.value, node.attr, missing)
        if value is missing:
            return None
        name = ast.unparse(node)
        if cell is None or not name.startswith("self.") or not isinstance(value, (*PLAIN, nn.Cell)):
            return Known(value, known.given)
        self.looked_at[name] = value
        return Known(value, known.given | {name})

    def _part(self, node: ast.Subscript, names: Mapping[str, Known]) -> Known | None:
        """One of Cells in a row."""
        row, place = self.evaluate(node.value, names), self.evaluate(node.slice, names)
        if row is None or place is None or type(place.value) is not int:
            return None
        if not isinstance(row.value, (nn.CellList, nn.SequentialCell)):
            return None
        inside = -len(row.value) <= place.value < len(row.value)
        return Known(row.value[place.value], row.given | place.given) if inside else None

    def _compare(self, node: ast.Compare, names: Mapping[str, Known]) -> Known | None:
        left = self.evaluate(node.left, names)
        right = self.evaluate(node.comparators[0], names)
        if left is None or right is None:
            return None
        given, kind = left.given | right.given, type(node.ops[0])
        if kind in (ast.Is, ast.IsNot):
            if right.value is not None and not isinstance(right.value, bool):
                return None
            if left.value is Something and right.value is not None:
                return None
            return Known((left.value is right.value) == (kind is ast.Is), given)
        if all(isinstance(one.value, (*PLAIN, tuple, _Dtype)) for one in (left, right)):
            try:
                return Known(bool(_COMPARISONS[kind](left.value, right.value)), given)
            except TypeError:
                return None
        return None

    def _both(self, node: ast.BoolOp, names: Mapping[str, Known]) -> Known | None:
        parts = [self.evaluate(value, names) for value in node.values]
        ends = isinstance(node.op, ast.Or)
        for part in parts:
            if part is not None and part.truth is ends:
                return Known(ends, part.given)
        known = [part for part in parts if part is not None and part.truth is not None]
        if len(known) < len(parts):
            return None
        return Known(not ends, frozenset().union(*(part.given for part in known)))

    def _together(
        self, function: Any, nodes: Any, kinds: tuple[type, ...], names: Mapping[str, Known]
    ) -> Known | None:
        parts = [self.evaluate(one, names) for one in nodes]
        if function is None or any(
            one is None or not isinstance(one.value, kinds) for one in parts
        ):
            return None
        given = frozenset().union(*(one.given for one in parts if one))
        try:
            return Known(function(*(one.value for one in parts if one)), given)
        except (ArithmeticError, ValueError, TypeError):
            return None

    def _made(self, kind: type, node: ast.Call, names: Mapping[str, Known]) -> Known | None:
        """A primitive or activation that is made where it is called."""
        if kind.__name__ not in _MADE or not issubclass(kind, (ops.Primitive, nn.Cell)):
            return None
        told = [self.evaluate(one, names) for one in node.args]
        more = {str(one.arg): self.evaluate(one.value, names) for one in node.keywords}
        every = [*told, *more.values()]
        if any(one is None or not isinstance(one.value, (*PLAIN, tuple)) for one in every):
            return None
        given = frozenset().union(*(one.given for one in every if one))
        try:
            made = kind(
                *(one.value for one in told if one),
                **{name: one.value for name, one in more.items() if one},
            )
        except Exception:  # noqa: BLE001 - it says so itself when it runs
            return None
        return Known(made, given)

    def _call(self, node: ast.Call, names: Mapping[str, Known]) -> Known | None:
        called = self.evaluate(node.func, names)
        if called is None:
            return None
        if isinstance(called.value, type) and is_of_framework(called.value):
            return self._made(called.value, node, names)
        if node.keywords:
            return None
        if called.value is hasattr and len(node.args) == 2:
            return self._together(hasattr, node.args, (nn.Cell, str), names)
        if called.value is isinstance and len(node.args) == 2:
            return self._together(isinstance, node.args, (nn.Cell, type, *PLAIN), names)
        if any(called.value is one for one in _PURE):
            return self._together(called.value, node.args, (bool, int, float), names)
        return None


@cache
def set_later(kind: type) -> frozenset[str]:
    """Attributes that methods of a class other than its constructor set."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base in (nn.Cell, object):
            break
        for name, value in vars(base).items():
            code = getattr(value, "__code__", None)
            if name != "__init__" and code is not None:
                found.update(_stored(code))
    return frozenset(found)


def _stored(code: Any) -> set[str]:
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"}


def condition(name: str, value: Any) -> ast.expr:
    """That an argument or attribute is what it was, as far as it was looked at."""
    if value is None or not isinstance(value, PLAIN):
        text = f"{name} is None" if value is None else f"{name} is not None"
    elif isinstance(value, bool):
        text = name if value else f"not {name}"
    else:
        text = f"{name} == {value!r}"
    return ast.parse(text, mode="eval").body


def of_argument(value: Any) -> Known:
    """What is kept of an argument of a call."""
    return Known(value) if isinstance(value, PLAIN) else Known(Something)


def is_of_framework(value: Any, package: str = "mindspore") -> bool:
    """Whether a function or class comes with it, or with mindnlp, which wraps the same names."""
    home = getattr(value, "__module__", "") or ""
    return home.split(".")[0] in (package, "mindnlp")


def number_of(value: Any) -> float | None:
    """A number, or what a Tensor of one element holds that is no Parameter."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, ms.Tensor) and not isinstance(value, ms.Parameter) and value.size == 1:
        return float(value.astype(ms.float32).asnumpy().reshape(()))
    return None
