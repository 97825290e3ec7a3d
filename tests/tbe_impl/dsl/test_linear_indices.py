"""Affine indices: forms, and comparisons decided at compile time, against enumeration."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tbe_impl.dsl.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    IterVar,
    Range,
    Select,
    Var,
    as_expr,
    const,
)
from tbe_impl.dsl.linear_indices import (
    conjunction,
    decide_condition,
    linear_form,
    range_conditions,
    simplify_selects,
    subtract_indices,
)
from tests.cases import cases

N = Var("n", bound=(2, 4))
R, J = IterVar(Range(-1, 3), "i"), IterVar(Range(5), "j")
UP_TO_N = IterVar(Range(N), "k")
FREE, UNBOUND, ANY_SIZE = IterVar(None, "f"), Var("m", bound=(1, None)), Var("s")
VALUES: Mapping[str, range] = {"i": range(-1, 3), "j": range(5), "n": range(2, 5)}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    name: getattr(operator, name) for name in ("eq", "lt", "le", "gt", "ge")
}


def logical_not(condition: Any) -> Expr:
    return Call("not", (condition,), "bool")


def value_of(expr: Any, values: Mapping[str, int]) -> int:
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, IterVar | Var):
        return values[expr.name]
    assert isinstance(expr, Binary)
    steps = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
    return steps[expr.op](value_of(expr.a, values), value_of(expr.b, values))


def points() -> Iterator[dict[str, int]]:
    for numbers in itertools.product(*VALUES.values()):
        yield dict(zip(VALUES, numbers, strict=True))


def random_index(source: random.Random, depth: int = 3) -> Expr:
    """An affine index of i, j and n; a factor may be 0 or negative, and terms may cancel."""
    if depth == 0:
        return source.choice([R, J, N, as_expr(source.randint(-3, 3))])
    one, other = (random_index(source, depth - 1) for _ in range(2))
    kind = source.choice(("add", "sub", "left", "right"))
    factor = source.randint(-2, 2)
    if kind in ("add", "sub"):
        return one + other if kind == "add" else one - other
    return factor * one if kind == "left" else one * factor


def test_forms_and_decisions_are_those_of_all_values() -> None:
    """Bounds of an affine form are attained, so a decision is made exactly where it is true."""
    source = random.Random(4)
    undecided = 0
    for number in range(150):
        one, other = random_index(source), random_index(source)
        form, difference = linear_form(one), subtract_indices(one, other)
        assert form is not None
        pairs = [(value_of(one, at), value_of(other, at)) for at in points()]
        for at, (first, second) in zip(points(), pairs, strict=True):
            assert value_of(form.expression(), at) == first
            assert value_of(difference, at) == first - second
        least, most = (edge(a - b for a, b in pairs) for edge in (min, max))
        for limit in (least - 1, least, least + 1, most - 1, most, most + 1):
            for name, holds in COMPARISONS.items():
                found = decide_condition(Binary(name, one, as_expr(other + limit), "bool"))
                seen = {holds(a, b + limit) for a, b in pairs}
                if name == "eq":
                    # between the bounds nothing is proved
                    wanted = None if least <= limit <= most and least < most else limit == least
                else:
                    wanted = seen.pop() if len(seen) == 1 else None
                undecided += found is None
                assert found == wanted, (number, name, one, other, limit)
    assert undecided


X, Y = Var("x", "float32"), Var("y", "float32")
OPEN, OTHER, ALWAYS, NEVER = R >= 0, J < 2, J >= 0, J > 4


@cases(
    "given, text",
    [
        # one condition: whether it is known
        (const(True, "bool"), "True"),
        (const(False, "bool"), "False"),
        (R, "None"),
        (Binary("ne", R, const(7), "bool"), "None"),
        (Binary("lt", const(1.0, "float32"), const(2.0, "float32"), "bool"), "None"),
        (Binary("lt", Cast("float32", R), const(9.0, "float32"), "bool"), "None"),
        (Cast("int64", J) >= 0, "True"),
        (Binary("and", R >= -1, J < 5, "bool"), "True"),
        (Binary("and", R >= 0, J < 5, "bool"), "None"),
        (Binary("and", R >= 0, J < 0, "bool"), "False"),
        (Binary("or", R >= 0, J < 5, "bool"), "True"),
        (Binary("or", R >= 3, J < 0, "bool"), "False"),
        (Binary("or", R >= 0, J < 0, "bool"), "None"),
        (UP_TO_N < N, "True"),
        (UP_TO_N < N - 1, "None"),
        (UP_TO_N >= N, "False"),
        (UP_TO_N >= 0, "True"),
        (FREE < 9, "None"),
        (FREE - FREE < 1, "True"),
        (UNBOUND >= 1, "True"),
        (UNBOUND >= 2, "None"),
        (UNBOUND < 1, "False"),
        (UNBOUND < 9, "None"),
        (ANY_SIZE >= 0, "True"),
        (ANY_SIZE >= 1, "None"),
        (J * J >= 0, "None"),
        (Binary("floordiv", J, const(2), "int32") >= 0, "None"),
        # several: those that are left
        ([], "None"),
        ([ALWAYS], "None"),
        ([OPEN], repr(OPEN)),
        ([OPEN, ALWAYS], repr(OPEN)),
        ([OPEN, OTHER], repr(Binary("and", OPEN, OTHER, "bool"))),
        ([OPEN, NEVER, OTHER], repr(const(False, "bool"))),
        (range_conditions(J, as_expr(0), as_expr(5)), "None"),
        (range_conditions(J, as_expr(1), as_expr(4)), repr(J >= 1)),
        (range_conditions(const(2), as_expr(0), as_expr(2)), repr(const(False, "bool"))),
        (Select(ALWAYS, X, Y), "x"),
        (Select(NEVER, X, Y), "y"),
        (Select(OPEN, X, Y), repr(Select(OPEN, X, Y))),
        (Select(Binary("and", OPEN, ALWAYS, "bool"), X, Y), repr(Select(OPEN, X, Y))),
        (Select(Binary("and", OPEN, NEVER, "bool"), X, Y), "y"),
        (Select(OPEN, Select(ALWAYS, X, Y), Y), repr(Select(OPEN, X, Y))),
        *(
            (Select(logical_not(condition), X, Y), kept)
            for condition, kept in ((J < 0, "x"), (J >= 0, "y"), (J > 4, "x"), (J <= 4, "y"))
        ),
    ],
)
def test_known_conditions_are_left_out(given: Any, text: str) -> None:
    if isinstance(given, list):
        assert repr(conjunction(given)) == text
    elif isinstance(given, Select):
        assert repr(simplify_selects(given)) == text
    else:
        assert repr(decide_condition(as_expr(given))) == text
