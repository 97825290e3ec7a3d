"""Indices as sums of axes and sizes with whole factors, and what can be said of them before run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    IterVar,
    Select,
    Var,
    as_expr,
    const,
    walk,
)
from tbe_impl.dsl.substitute import substitute


@dataclass(frozen=True)
class Linear:
    """A sum Σ factor · symbol + constant.

    Attributes:
        parts: ``id`` of an axis or a variable → itself and its factor, which is not 0.
        constant: the rest.
    """

    parts: Mapping[int, tuple[Expr, int]] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """This and `times` the other."""
        found = dict(self.parts)
        for key, (symbol, factor) in other.parts.items():
            total = found.get(key, (symbol, 0))[1] + factor * times
            if total:
                found[key] = (symbol, total)
            else:
                found.pop(key, None)
        return Linear(found, self.constant + other.constant * times)

    def axes(self) -> list[tuple[IterVar, int]]:
        """The axes in it with their factors."""
        return [
            (symbol, factor)
            for symbol, factor in self.parts.values()
            if isinstance(symbol, IterVar)
        ]

    def without(self, axes: Mapping[int, object]) -> Linear:
        """What is left when some symbols, by ``id``, are taken out."""
        left = {key: part for key, part in self.parts.items() if key not in axes}
        return Linear(left, self.constant)

    def expression(self) -> Expr:
        """The sum as an expression."""
        total: Expr | None = None
        for symbol, factor in self.parts.values():
            part = symbol if factor == 1 else symbol * factor
            total = part if total is None else total + part
        if total is None:
            return const(self.constant)
        return total + self.constant if self.constant else total


def linear(index: Expr) -> Linear | None:
    """An index as a sum, None when it is none.

    >>> i = IterVar(None, "i")
    >>> linear((i + 1) * 3 - 2).expression()
    ((i * 3) + 1)
    """
    if isinstance(index, Const):
        return Linear({}, int(index.value)) if not isinstance(index.value, str) else None
    if isinstance(index, (IterVar, Var)):
        return Linear({id(index): (index, 1)})
    if isinstance(index, Cast):
        same = not is_float(index.dtype) and not is_float(index.value.dtype)
        return linear(index.value) if same else None
    if not isinstance(index, Binary) or index.op not in ("add", "sub", "mul"):
        return None
    one, other = linear(index.a), linear(index.b)
    if one is None or other is None:
        return None
    if index.op != "mul":
        return one.plus(other, 1 if index.op == "add" else -1)
    if other.parts:
        one, other = other, one
    return None if other.parts else Linear().plus(one, other.constant)


def _extreme(form: Linear, *, largest: bool) -> int | None:
    """The largest or smallest value over all axes and sizes; None when there is no bound that we know."""
    for axis, factor in form.axes():
        if axis.dom is None:
            return None
        low, extent = linear(axis.dom.min), linear(axis.dom.extent)
        if low is None or extent is None:
            return None
        last = low.plus(extent).plus(Linear({}, -1))
        form = form.without({id(axis): None}).plus(last if (factor > 0) == largest else low, factor)
    total = form.constant
    for symbol, factor in form.parts.values():
        bound = symbol.bound if isinstance(symbol, Var) else None
        if isinstance(symbol, IterVar):
            return None
        least, most = bound or (0, None)
        edge = most if (factor > 0) == largest else least
        if edge is None:
            return None
        total += factor * edge
    return total


def known_truth(condition: Expr) -> bool | None:
    """Whether a comparison of indices always or never holds; None when it depends.

    Axes are taken to have a step at least, since what has none is not computed.
    """
    if isinstance(condition, Const):
        return bool(condition.value)
    if not isinstance(condition, Binary):
        return None
    if condition.op in ("and", "or"):
        parts = [known_truth(condition.a), known_truth(condition.b)]
        decisive = condition.op == "or"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if condition.op not in ("eq", "lt", "le", "gt", "ge") or is_float(condition.a.dtype):
        return None
    one, other = linear(condition.a), linear(condition.b)
    if one is None or other is None:
        return None
    away = one.plus(other, -1)
    if condition.op == "eq":
        most, least = _extreme(away, largest=True), _extreme(away, largest=False)
        if most is None or least is None:
            return None
        return True if most == least == 0 else False if most < 0 or least > 0 else None
    if condition.op in ("gt", "ge"):
        away = Linear().plus(away, -1)
    limit = 0 if condition.op in ("le", "ge") else -1
    most, least = _extreme(away, largest=True), _extreme(away, largest=False)
    if most is not None and most <= limit:
        return True
    return False if least is not None and least > limit else None


def all_of(conditions: list[Expr]) -> Expr | None:
    """One condition for several, without those that always hold; None when none is left."""
    found: Expr | None = None
    for condition in conditions:
        truth = known_truth(condition)
        if truth is True:
            continue
        if truth is not None:
            return const(False, "bool")
        found = condition if found is None else Binary("and", found, condition, "bool")
    return found


def within(place: Expr, low: Expr, extent: Expr) -> list[Expr]:
    """The conditions that hold inside of a range."""
    compared = [place >= low, place < low + extent]
    return [const(item, "bool") if isinstance(item, bool) else as_expr(item) for item in compared]


def minus(one: Expr, other: Expr) -> Expr:
    """The difference of two indices, written as shortly as we can."""
    first, second = linear(one), linear(other)
    if first is None or second is None:
        return one - other
    return first.plus(second, -1).expression()


def settled(expression: Expr) -> Expr:
    """An expression whose selects are decided where their conditions always or never hold."""
    new: dict[int, Expr] = {}
    for node in walk(expression):
        if not isinstance(node, Select):
            continue
        parts = _conjuncts(node.condition)
        condition = all_of(parts)
        if condition is None or isinstance(condition, Const):
            side = node.a if condition is None else node.b
            new[id(node)] = substitute(side, new)
        elif len(list(_conjuncts(condition))) < len(parts):
            new[id(node)] = Select(condition, substitute(node.a, new), substitute(node.b, new))
    return substitute(expression, new) if new else expression


def _conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that hold together where `condition` does."""
    if isinstance(condition, Binary) and condition.op == "and":
        return [*_conjuncts(condition.a), *_conjuncts(condition.b)]
    if isinstance(condition, Call) and condition.name == "not":
        inner = condition.args[0]
        opposite = _OPPOSITE.get(inner.op) if isinstance(inner, Binary) else None
        if isinstance(inner, Binary) and opposite and not is_float(inner.a.dtype):
            return [Binary(opposite, inner.a, inner.b, "bool")]
    return [condition]


_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
