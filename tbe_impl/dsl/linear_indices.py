"""Analyses affine indices: their linear forms over axes and sizes, bounds, and comparisons."""

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
class LinearForm:
    """An affine form Σ factor · symbol + constant.

    Attributes:
        parts: a dict from ``id(symbol)`` to a pair (symbol, factor). A symbol is an axis or a
            variable; its factor is not 0.
        constant: the constant term.
    """

    parts: Mapping[int, tuple[Expr, int]] = field(default_factory=dict)
    constant: int = 0

    def add_scaled(self, other: LinearForm, times: int = 1) -> LinearForm:
        """Returns this form plus `times` · `other`."""
        found = dict(self.parts)
        for key, (symbol, factor) in other.parts.items():
            total = found.get(key, (symbol, 0))[1] + factor * times
            if total:
                found[key] = (symbol, total)
            else:
                found.pop(key, None)
        return LinearForm(found, self.constant + other.constant * times)

    def axes(self) -> list[tuple[IterVar, int]]:
        """Returns the axes of the form with their factors; variables are left out."""
        return [
            (symbol, factor)
            for symbol, factor in self.parts.values()
            if isinstance(symbol, IterVar)
        ]

    def drop_symbols(self, axes: Mapping[int, object]) -> LinearForm:
        """Returns the form without the symbols whose ``id`` is in `axes`."""
        left = {key: part for key, part in self.parts.items() if key not in axes}
        return LinearForm(left, self.constant)

    def expression(self) -> Expr:
        """Converts the form to an expression."""
        total: Expr | None = None
        for symbol, factor in self.parts.values():
            part = symbol if factor == 1 else symbol * factor
            total = part if total is None else total + part
        if total is None:
            return const(self.constant)
        return total + self.constant if self.constant else total


def linear_form(index: Expr) -> LinearForm | None:
    """Converts an index to its affine form, or returns None if the index is not affine.

    >>> i = IterVar(None, "i")
    >>> linear_form((i + 1) * 3 - 2).expression()
    ((i * 3) + 1)
    """
    if isinstance(index, Const):
        return LinearForm({}, int(index.value)) if not isinstance(index.value, str) else None
    if isinstance(index, (IterVar, Var)):
        return LinearForm({id(index): (index, 1)})
    if isinstance(index, Cast):
        same = not is_float(index.dtype) and not is_float(index.value.dtype)
        return linear_form(index.value) if same else None
    if not isinstance(index, Binary) or index.op not in ("add", "sub", "mul"):
        return None
    one, other = linear_form(index.a), linear_form(index.b)
    if one is None or other is None:
        return None
    if index.op != "mul":
        return one.add_scaled(other, 1 if index.op == "add" else -1)
    if other.parts:
        one, other = other, one
    return None if other.parts else LinearForm().add_scaled(one, other.constant)


def _extreme_value(form: LinearForm, *, largest: bool) -> int | None:
    """Returns the largest value of `form` over all axes and sizes.

    If `largest` is false, returns the smallest value instead. Returns None if the value is
    unbounded or unknown.
    """
    for axis, factor in form.axes():
        if axis.dom is None:
            return None
        low, extent = linear_form(axis.dom.min), linear_form(axis.dom.extent)
        if low is None or extent is None:
            return None
        last = low.add_scaled(extent).add_scaled(LinearForm({}, -1))
        form = form.drop_symbols({id(axis): None}).add_scaled(
            last if (factor > 0) == largest else low, factor
        )
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


def decide_condition(condition: Expr) -> bool | None:
    """Decides a comparison of indices at compile time.

    Axes are assumed non-empty, since an empty loop evaluates no condition.

    Returns:
        True if the condition always holds, False if it never holds, None if this is not decidable
        here.
    """
    if isinstance(condition, Const):
        return bool(condition.value)
    if not isinstance(condition, Binary):
        return None
    if condition.op in ("and", "or"):
        parts = [decide_condition(condition.a), decide_condition(condition.b)]
        decisive = condition.op == "or"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if condition.op not in ("eq", "lt", "le", "gt", "ge") or is_float(condition.a.dtype):
        return None
    one, other = linear_form(condition.a), linear_form(condition.b)
    if one is None or other is None:
        return None
    away = one.add_scaled(other, -1)
    if condition.op == "eq":
        most, least = _extreme_value(away, largest=True), _extreme_value(away, largest=False)
        if most is None or least is None:
            return None
        return True if most == least == 0 else False if most < 0 or least > 0 else None
    if condition.op in ("gt", "ge"):
        away = LinearForm().add_scaled(away, -1)
    limit = 0 if condition.op in ("le", "ge") else -1
    most, least = _extreme_value(away, largest=True), _extreme_value(away, largest=False)
    if most is not None and most <= limit:
        return True
    return False if least is not None and least > limit else None


def conjunction(conditions: list[Expr]) -> Expr | None:
    """Joins `conditions` with `and`; conditions that always hold are omitted.

    If all conditions always hold, the result is None. If one of the conditions never holds, the
    result is the constant False.
    """
    found: Expr | None = None
    for condition in conditions:
        truth = decide_condition(condition)
        if truth is True:
            continue
        if truth is not None:
            return const(False, "bool")
        found = condition if found is None else Binary("and", found, condition, "bool")
    return found


def range_conditions(place: Expr, low: Expr, extent: Expr) -> list[Expr]:
    """Returns the conditions ``place >= low`` and ``place < low + extent``."""
    compared = [place >= low, place < low + extent]
    return [const(item, "bool") if isinstance(item, bool) else as_expr(item) for item in compared]


def subtract_indices(one: Expr, other: Expr) -> Expr:
    """Returns `one` − `other`; the difference is simplified if both indices are affine."""
    first, second = linear_form(one), linear_form(other)
    if first is None or second is None:
        return one - other
    return first.add_scaled(second, -1).expression()


def simplify_selects(expression: Expr) -> Expr:
    """Replaces each select whose condition is known at compile time by the chosen operand.

    Every other select is kept. If the condition of a kept select is a conjunction (`and`), the
    operands of the conjunction that are always true are removed.
    """
    new: dict[int, Expr] = {}
    for node in walk(expression):
        if not isinstance(node, Select):
            continue
        parts = _conjuncts(node.condition)
        condition = conjunction(parts)
        if condition is None or isinstance(condition, Const):
            side = node.a if condition is None else node.b
            new[id(node)] = substitute(side, new)
        elif len(list(_conjuncts(condition))) < len(parts):
            new[id(node)] = Select(condition, substitute(node.a, new), substitute(node.b, new))
    return substitute(expression, new) if new else expression


def _conjuncts(condition: Expr) -> list[Expr]:
    """Splits a condition into its conjuncts.

    A negated integer comparison is replaced by the opposite comparison.
    """
    if isinstance(condition, Binary) and condition.op == "and":
        return [*_conjuncts(condition.a), *_conjuncts(condition.b)]
    if isinstance(condition, Call) and condition.name == "not":
        inner = condition.args[0]
        opposite = _NEGATED_COMPARISONS.get(inner.op) if isinstance(inner, Binary) else None
        if isinstance(inner, Binary) and opposite and not is_float(inner.a.dtype):
            return [Binary(opposite, inner.a, inner.b, "bool")]
    return [condition]


_NEGATED_COMPARISONS = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
