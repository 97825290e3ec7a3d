"""Partially evaluates expressions in a Cell's source, with the known attributes and arguments."""

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

PLAIN_TYPES = (type(None), bool, int, float, str)
_Dtype: Any = ms.Type if HAS_MINDSPORE else type(None)
MUTABLE_ATTRIBUTES = frozenset({"training"})
"""Attributes of a Cell that change after construction."""


class NotNone:
    """Abstract value of an argument that is not None and otherwise unknown."""


@dataclass(frozen=True)
class KnownValue:
    """The known value of an expression, and the arguments and attributes that it depends on.

    Attributes:
        value: the value, or `NotNone`.
        given: the names of the arguments and attributes that the value depends on. An attribute has
            the form ``self.name``.
        source: the assigned expression if the value is a layer or primitive that was assigned to a
            local name; otherwise None.
    """

    value: Any
    given: frozenset[str] = frozenset()
    source: ast.expr | None = None

    @property
    def truth(self) -> bool | None:
        """The truth value of the known value, or None if the truth value is unknown."""
        return bool(self.value) if isinstance(self.value, PLAIN_TYPES) else None


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
_CONSTRUCTIBLE_CLASSES = frozenset(
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
"""Names of the classes (primitives and weightless Cells) that the evaluation may construct."""
_PURE_FUNCTIONS = (math.sqrt, float, int, bool, abs, min, max)


class Scope:
    """Evaluates expressions in a function of a Cell.

    Args:
        cell: value of `self`.
        function: the function. The evaluation reads the globals of this function.
        local: names that the function assigns.
    """

    def __init__(self, cell: Any, function: Any, local: frozenset[str]):
        self.cell, self.function, self.local = cell, function, local
        self.looked_at: dict[str, Any] = {}

    def conditions(self, known: KnownValue) -> list[ast.expr]:
        """Returns one condition for each attribute that the value depends on.

        A condition holds while the attribute does not change.
        """
        names = sorted(name for name in known.given if name.startswith("self."))
        return [condition(name, self.looked_at[name]) for name in names]

    def evaluate(
        self, node: ast.expr, names: Mapping[str, KnownValue] | None = None
    ) -> KnownValue | None:
        """Returns the value of the expression, or None if the value is unknown."""
        names = names or {}
        if isinstance(node, ast.Constant):
            return KnownValue(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id, names)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, names)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compare(node, names)
        if isinstance(node, ast.BoolOp):
            return self._boolean_operation(node, names)
        if isinstance(node, ast.UnaryOp):
            known = self.evaluate(node.operand, names)
            if isinstance(node.op, ast.Not):
                truth = None if known is None else known.truth
                return (
                    None if known is None or truth is None else KnownValue(not truth, known.given)
                )
            if isinstance(node.op, ast.USub) and known and type(known.value) in (int, float):
                return KnownValue(-known.value, known.given)
            return None
        if isinstance(node, ast.BinOp):
            return self._fold_constants(
                _ARITHMETIC.get(type(node.op)), (node.left, node.right), (int, float), names
            )
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._fold_constants(lambda *every: tuple(every), node.elts, PLAIN_TYPES, names)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, names)
        if isinstance(node, ast.Call):
            return self._call(node, names)
        return None

    def _name(self, name: str, names: Mapping[str, KnownValue]) -> KnownValue | None:
        if name in names:
            return names[name]
        if name == "self":
            return KnownValue(self.cell)
        if name in self.local:
            return None
        for space in (self.function.__globals__, vars(builtins)):
            if name in space:
                return KnownValue(space[name])
        return None

    def _attribute(self, node: ast.Attribute, names: Mapping[str, KnownValue]) -> KnownValue | None:
        known = self.evaluate(node.value, names)
        if known is None or not (inspect.ismodule(known.value) or isinstance(known.value, nn.Cell)):
            return None
        cell = known.value if isinstance(known.value, nn.Cell) else None
        kind: Any = type(cell)
        if cell is not None and node.attr in MUTABLE_ATTRIBUTES | mutable_attributes(kind):
            return None
        missing = object()
        value = getattr(known.value, node.attr, missing)
        if value is missing:
            return None
        name = ast.unparse(node)
        if (
            cell is None
            or not name.startswith("self.")
            or not isinstance(value, (*PLAIN_TYPES, nn.Cell))
        ):
            return KnownValue(value, known.given)
        self.looked_at[name] = value
        return KnownValue(value, known.given | {name})

    def _subscript(self, node: ast.Subscript, names: Mapping[str, KnownValue]) -> KnownValue | None:
        """Evaluates cells[index] for a CellList or SequentialCell and a constant index."""
        row, place = self.evaluate(node.value, names), self.evaluate(node.slice, names)
        if row is None or place is None or type(place.value) is not int:
            return None
        if not isinstance(row.value, (nn.CellList, nn.SequentialCell)):
            return None
        inside = -len(row.value) <= place.value < len(row.value)
        return KnownValue(row.value[place.value], row.given | place.given) if inside else None

    def _compare(self, node: ast.Compare, names: Mapping[str, KnownValue]) -> KnownValue | None:
        left = self.evaluate(node.left, names)
        right = self.evaluate(node.comparators[0], names)
        if left is None or right is None:
            return None
        given, kind = left.given | right.given, type(node.ops[0])
        if kind in (ast.Is, ast.IsNot):
            if right.value is not None and not isinstance(right.value, bool):
                return None
            if left.value is NotNone and right.value is not None:
                return None
            return KnownValue((left.value is right.value) == (kind is ast.Is), given)
        if all(isinstance(one.value, (*PLAIN_TYPES, tuple, _Dtype)) for one in (left, right)):
            try:
                return KnownValue(bool(_COMPARISONS[kind](left.value, right.value)), given)
            except TypeError:
                return None
        return None

    def _boolean_operation(
        self, node: ast.BoolOp, names: Mapping[str, KnownValue]
    ) -> KnownValue | None:
        parts = [self.evaluate(value, names) for value in node.values]
        ends = isinstance(node.op, ast.Or)
        for part in parts:
            if part is not None and part.truth is ends:
                return KnownValue(ends, part.given)
        known = [part for part in parts if part is not None and part.truth is not None]
        if len(known) < len(parts):
            return None
        return KnownValue(not ends, frozenset().union(*(part.given for part in known)))

    def _fold_constants(
        self, function: Any, nodes: Any, kinds: tuple[type, ...], names: Mapping[str, KnownValue]
    ) -> KnownValue | None:
        parts = [self.evaluate(one, names) for one in nodes]
        if function is None or any(
            one is None or not isinstance(one.value, kinds) for one in parts
        ):
            return None
        given = frozenset().union(*(one.given for one in parts if one))
        try:
            return KnownValue(function(*(one.value for one in parts if one)), given)
        except (ArithmeticError, ValueError, TypeError):
            return None

    def _construct(
        self, kind: type, node: ast.Call, names: Mapping[str, KnownValue]
    ) -> KnownValue | None:
        """Evaluates a constructor call: constructs a primitive, or a Cell that has no weights."""
        if kind.__name__ not in _CONSTRUCTIBLE_CLASSES or not issubclass(
            kind, (ops.Primitive, nn.Cell)
        ):
            return None
        told = [self.evaluate(one, names) for one in node.args]
        more = {str(one.arg): self.evaluate(one.value, names) for one in node.keywords}
        every = [*told, *more.values()]
        if any(one is None or not isinstance(one.value, (*PLAIN_TYPES, tuple)) for one in every):
            return None
        given = frozenset().union(*(one.given for one in every if one))
        try:
            made = kind(
                *(one.value for one in told if one),
                **{name: one.value for name, one in more.items() if one},
            )
        except Exception:  # noqa: BLE001 - the same error is raised when the net runs
            return None
        return KnownValue(made, given)

    def _call(self, node: ast.Call, names: Mapping[str, KnownValue]) -> KnownValue | None:
        called = self.evaluate(node.func, names)
        if called is None:
            return None
        if isinstance(called.value, type) and is_of_framework(called.value):
            return self._construct(called.value, node, names)
        if node.keywords:
            return None
        if called.value is hasattr and len(node.args) == 2:
            return self._fold_constants(hasattr, node.args, (nn.Cell, str), names)
        if called.value is isinstance and len(node.args) == 2:
            return self._fold_constants(isinstance, node.args, (nn.Cell, type, *PLAIN_TYPES), names)
        if any(called.value is one for one in _PURE_FUNCTIONS):
            return self._fold_constants(called.value, node.args, (bool, int, float), names)
        return None


@cache
def mutable_attributes(kind: type) -> frozenset[str]:
    """Returns the names of the attributes that are assigned by a method other than `__init__`."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base in (nn.Cell, object):
            break
        for name, value in vars(base).items():
            code = getattr(value, "__code__", None)
            if name != "__init__" and code is not None:
                found.update(_attributes_stored_by(code))
    return frozenset(found)


def _attributes_stored_by(code: Any) -> set[str]:
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"}


def condition(name: str, value: Any) -> ast.expr:
    """Returns an expression that tests whether an argument or attribute still has `value`.

    If the type of `value` is not in `PLAIN_TYPES`, the expression only tests that the argument or
    attribute is not None.
    """
    if value is None or not isinstance(value, PLAIN_TYPES):
        text = f"{name} is None" if value is None else f"{name} is not None"
    elif isinstance(value, bool):
        text = name if value else f"not {name}"
    else:
        text = f"{name} == {value!r}"
    return ast.parse(text, mode="eval").body


def abstract_argument(value: Any) -> KnownValue:
    """Returns a call argument as a `KnownValue`; for a type that is not plain, as `NotNone`."""
    return KnownValue(value) if isinstance(value, PLAIN_TYPES) else KnownValue(NotNone)


def is_of_framework(value: Any, package: str = "mindspore") -> bool:
    """Whether a function or class belongs to `package`, or to mindnlp (a wrapper of MindSpore)."""
    home = getattr(value, "__module__", "") or ""
    return home.split(".")[0] in (package, "mindnlp")


def number_of(value: Any) -> float | None:
    """Returns the value of a number, or of a one-element Tensor that is not a Parameter.

    Returns None for any other value.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, ms.Tensor) and not isinstance(value, ms.Parameter) and value.size == 1:
        return float(value.astype(ms.float32).asnumpy().reshape(()))
    return None
