"""The derivative of a scalar expression for every element that it reads, backwards.

A value that the forward expression leaves out — the other side of a select, the smaller operand of a maximum — gets exactly
0, also where its own derivative is infinite: such a part carries the *gate* outside which it counts for nothing, and is
put behind it as soon as it has been multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import (
    COMPARISONS,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    IterVar,
    Read,
    Select,
    binary,
    call,
    cast,
    const,
    select,
    walk,
)


@dataclass(frozen=True)
class Gate:
    """A condition, known as soon as somebody asks: those that nobody needs are never written.

    Attributes:
        make: gives the condition.
        holds: whether the gate is open where it is true, or where it is false.
    """

    make: Callable[[], Expr]
    holds: bool = True

    def expression(self) -> Expr:
        """True where the gate is open."""
        condition = self.make()
        return condition if self.holds else call("not", condition, dtype="bool")


@dataclass(frozen=True)
class Term:
    """A part of an adjoint.

    Attributes:
        value: of the dtype of what it is the adjoint of.
        gates: it counts for nothing outside of all of them.
        closed_gates: the value is 0 already outside of so many of the gates, the first ones.
    """

    value: Expr
    gates: tuple[Gate, ...] = ()
    closed_gates: int = 0

    @classmethod
    def of_adjoint(cls, value: Expr, gates: tuple[Gate, ...]) -> Term:
        """A value that is 0 outside of its gates."""
        return cls(value, gates, len(gates))

    def times(self, value: Expr) -> Term:
        """With another value, which may be infinite where this one is 0."""
        return Term(value, self.gates, 0)

    def behind(
        self, make: Callable[[], Expr], *, holds: bool = True, value: Expr | None = None
    ) -> Term:
        """Behind one more gate; with a `value` that respects it already, as the sum of both."""
        gates = (*self.gates, Gate(make, holds))
        whole = value is not None and self.closed_gates == len(self.gates)
        return Term(
            self.value if value is None else value,
            gates,
            len(gates) if whole else self.closed_gates,
        )

    def closed(self) -> Expr:
        """The value, 0 outside of the gates."""
        opened = opening(self.gates[self.closed_gates :])
        if opened is None:
            return self.value
        return select(opened, self.value, const(0, self.value.dtype))


def opening(gates: Sequence[Gate]) -> Expr | None:
    """Where all gates are open; None for everywhere."""
    found: Expr | None = None
    for gate in gates:
        one = gate.expression()
        found = one if found is None else binary("and", found, one)
    return found


def _together(terms: Sequence[Term]) -> Term:
    """Their sum; it counts where one of them does."""
    if len(terms) == 1:
        return terms[0]
    total = terms[0].closed()
    for term in terms[1:]:
        total = total + term.closed()
    shared: list[Gate] = []
    for gates in zip(*(term.gates for term in terms), strict=False):
        if any(gate is not gates[0] for gate in gates):
            break
        shared.append(gates[0])
    rest = [term.gates[len(shared) :] for term in terms]
    if not all(rest) or _complement(rest):
        return Term.of_adjoint(total, tuple(shared))

    @cache
    def either() -> Expr:
        opened = [opening(gates) for gates in rest]
        found = opened[0]
        for one in opened[1:]:
            found = binary("or", found, one)
        assert found is not None
        return found

    return Term.of_adjoint(total, (*shared, Gate(either)))


def _complement(terms: Sequence[tuple[Gate, ...]]) -> bool:
    """Whether two of them are the two sides of one condition."""
    alone = [gates[0] for gates in terms if len(gates) == 1]
    sides = {(id(gate.make), gate.holds) for gate in alone}
    return any((make, not holds) in sides for make, holds in sides)


def _operands(node: Expr) -> tuple[Expr, ...]:
    """What gives a node its value: not indices, nor conditions."""
    if isinstance(node, Select):
        return (node.a, node.b)
    if isinstance(node, Read) or (isinstance(node, Binary) and node.op in COMPARISONS):
        return ()
    return node.children


def value_reads(expression: Expr) -> Iterator[Read]:
    """The elements that stand in an expression as values."""
    waiting, seen = [expression], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Read):
            yield node
        waiting.extend(_operands(node))


def counts_positions(expression: Expr) -> bool:
    """Whether an axis stands in it as a value."""
    waiting, seen = [expression], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, IterVar):
            return True
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(_operands(node))
    return False


def derivatives(
    body: Expr,
    adjoint: Term,
    known: Mapping[int, Expr],
    is_active: Callable[[Read], bool],
    steps: Callable[[Expr], None],
    *,
    rectifier: bool = False,
) -> list[tuple[Read, Term]]:
    """What each element that is read gets.

    Args:
        body: the expression.
        adjoint: that of its value.
        known: ``id`` of a node → where its value lies already.
        is_active: whether an element is asked for.
        steps: called with whole numbers and truth values that become floats; raises when that has no derivative.
        rectifier: a maximum with 0 is max(x, 0) of neural networks, which has the derivative 0 at 0.
    """
    order = list(walk(body))
    live: set[int] = set()
    for node in order:
        read = isinstance(node, Read) and is_active(node)
        if is_float(node.dtype) and (read or any(id(child) in live for child in _operands(node))):
            live.add(id(node))
    terms: dict[int, list[Term]] = {id(body): [adjoint]}
    found: list[tuple[Read, Term]] = []
    for node in reversed(order):
        if id(node) not in terms:
            continue
        if isinstance(node, Cast) and not is_float(node.value.dtype):
            steps(node.value)
        if id(node) not in live:
            if not is_float(node.dtype):
                continue
            # whole numbers may still stand below
            for child in _operands(node):
                terms.setdefault(id(child), [])
            continue
        given = terms[id(node)]
        if not given:
            continue
        term = _together(given)
        if isinstance(node, Read):
            found.append((node, term))
            continue
        value = known.get(id(node), node)
        passed = _passed(node, value, term, rectifier)
        for child, make in zip(_operands(node), passed, strict=True):
            if id(child) in live:
                terms.setdefault(id(child), []).append(make())
            else:
                terms.setdefault(id(child), [])
    return found


_Makers = tuple[Callable[[], Term], ...]


def _passed(node: Expr, value: Expr, term: Term, rectifier: bool) -> _Makers:
    """For each operand what gives its share of the adjoint of a node."""
    if isinstance(node, Cast):
        return (lambda: replace(term, value=cast(node.value.dtype, term.value)),)
    if isinstance(node, Select):
        condition = node.condition
        make = cache(lambda: condition)
        return (lambda: term.behind(make), lambda: term.behind(make, holds=False))
    if isinstance(node, Binary):
        return _binary(node, value, term, rectifier)
    assert isinstance(node, Call), node
    if node.name in ("atan2", "fmod"):
        return _call_of_two(node, term)
    x, g = node.args[0], term.value
    if node.name == "neg":
        return (lambda: replace(term, value=call("neg", g)),)
    if node.name == "relu":
        return (lambda: _where(term, binary("gt", x, const(0, x.dtype)), g),)
    if node.name in _FLAT:
        return (lambda: replace(term, value=const(0, x.dtype)),)
    return (lambda: term.times(_FUNCTIONS[node.name](g, x, value)),)


def _where(term: Term, condition: Expr, value: Expr) -> Term:
    """A term behind a condition, which its value respects."""
    zero = const(0, value.dtype)
    return term.behind(cache(lambda: condition), value=select(condition, value, zero))


def _settled(node: Expr) -> Expr:
    """An operand, or the number that it is everywhere: an element of a tensor that holds one number."""
    found = node
    while isinstance(found, Read) and found.tensor.op.body:
        found = found.tensor.op.body[found.tensor.value_index]
    return found if isinstance(found, Const) else node


def _is_zero(expression: Expr) -> bool:
    return isinstance(expression, Const) and bool(expression.value == 0)


def _binary(node: Binary, y: Expr, term: Term, rectifier: bool) -> _Makers:
    a, b, g = _settled(node.a), _settled(node.b), term.value
    if node.op == "add":
        return (lambda: term, lambda: term)
    if node.op == "sub":
        return (lambda: term, lambda: replace(term, value=call("neg", g)))
    if node.op == "mul":
        return (lambda: _scaled(term, b), lambda: _scaled(term, a))
    if node.op == "div":
        ratio = g / b
        return (lambda: term.times(ratio), lambda: term.times(call("neg", ratio * y)))
    if node.op in ("max", "min"):
        return _extreme(node, term, rectifier)
    if node.op == "pow":
        return (lambda: term.times(g * _power(a, b)), lambda: term.times(g * _exponent(a, b, y)))
    zero = replace(term, value=const(0, g.dtype))
    if node.op in ("floormod", "truncmod"):
        whole = call("floor" if node.op == "floormod" else "trunc", a / b)
        return (lambda: term, lambda: term.times(call("neg", g * whole)))
    return (lambda: zero, lambda: zero)


def _scaled(term: Term, factor: Expr) -> Term:
    value = term.value * factor
    if isinstance(factor, Const) and math.isfinite(factor.value):
        return replace(term, value=value)
    return term.times(value)


def _extreme(node: Binary, term: Term, rectifier: bool) -> _Makers:
    """The operand that was chosen gets all, of equals each one half; both get all where one is NaN."""
    a, b, g = _settled(node.a), _settled(node.b), term.value
    if rectifier and node.op == "max" and (_is_zero(a) or _is_zero(b)):
        other = b if _is_zero(a) else a
        share = lambda: _where(term, binary("gt", other, const(0, g.dtype)), g)  # noqa: E731
        return (share, share)
    half, zero = g * const(0.5, g.dtype), const(0, g.dtype)

    def side(lost: str) -> Term:
        left_out = binary(lost, a, b)
        value = select(left_out, zero, select(binary("eq", a, b), half, g))
        return term.behind(cache(lambda: left_out), holds=False, value=value)

    first, second = ("lt", "gt") if node.op == "max" else ("gt", "lt")
    return (lambda: side(first), lambda: side(second))


def _power(x: Expr, p: Expr) -> Expr:
    """The derivative of x^p for x: p·x^(p − 1), and 0 for p = 0."""
    if isinstance(p, Const):
        if p.value == 0:
            return const(0, x.dtype)
        if p.value == 1:
            return const(1, x.dtype)
        return (
            x * const(2, x.dtype) if p.value == 2 else p * binary("pow", x, p - const(1, p.dtype))
        )
    zero = const(0, x.dtype)
    return select(binary("eq", p, zero), zero, p * binary("pow", x, p - const(1, p.dtype)))


def _exponent(x: Expr, p: Expr, y: Expr) -> Expr:
    """The derivative of x^p for p: x^p · ln x, and its limit 0 at x = 0 for p ≥ 0."""
    zero = const(0, x.dtype)
    flat = binary("and", binary("eq", x, zero), binary("ge", p, zero))
    if isinstance(flat, bool):
        return zero if flat else y * call("log", x)
    return select(flat, zero, y * call("log", x))


def _call_of_two(node: Call, term: Term) -> _Makers:
    (a, b), g = node.args, term.value
    if node.name == "fmod":
        return (lambda: term, lambda: term.times(call("neg", g * call("trunc", a / b))))
    square = a * a + b * b
    return (lambda: term.times(g * b / square), lambda: term.times(call("neg", g * a / square)))


_FLAT = frozenset({"floor", "ceil", "rint", "round_away", "trunc", "sign"})
"""Functions of steps: their derivative is 0."""


def _one(x: Expr) -> Const:
    return const(1, x.dtype)


def _number(value: float, x: Expr) -> Const:
    return const(value, x.dtype)


def _slope_within_ndtr_tanh(x: Expr) -> Expr:
    """The derivative of 2·√(2/π)·(x + 0.044715·x³), bounded where the logistic function of it is flat."""
    twice = 2.0 * math.sqrt(2.0 / math.pi)
    square = binary("min", x * x, _number(1e4, x))
    return square * _number(3 * 0.044715 * twice, x) + _number(twice, x)


_FUNCTIONS: Mapping[str, Callable[[Expr, Expr, Expr], Expr]] = {
    "abs": lambda g, x, y: g * call("sign", x),
    "sqrt": lambda g, x, y: g * _number(0.5, x) / y,
    "rsqrt": lambda g, x, y: g * _number(-0.5, x) * (y * y * y),
    "rec": lambda g, x, y: call("neg", g * y * y),
    "exp": lambda g, x, y: g * y,
    "exp2": lambda g, x, y: g * (y * _number(math.log(2), x)),
    "expm1": lambda g, x, y: g * call("exp", x),
    "log": lambda g, x, y: g / x,
    "log2": lambda g, x, y: g * _number(1 / math.log(2), x) / x,
    "log10": lambda g, x, y: g * _number(1 / math.log(10), x) / x,
    "log1p": lambda g, x, y: g / (x + _one(x)),
    "tanh": lambda g, x, y: g * (_one(x) - y * y),
    "sigmoid": lambda g, x, y: g * (y * (_one(x) - y)),
    "erf": lambda g, x, y: (
        g * (_number(2 / math.sqrt(math.pi), x) * call("exp", call("neg", x * x)))
    ),
    "erfc": lambda g, x, y: (
        g * (_number(-2 / math.sqrt(math.pi), x) * call("exp", call("neg", x * x)))
    ),
    "ndtr": lambda g, x, y: (
        g * (_number(1 / math.sqrt(2 * math.pi), x) * call("exp", _number(-0.5, x) * (x * x)))
    ),
    "ndtr_tanh": lambda g, x, y: g * (y * (_one(x) - y) * _slope_within_ndtr_tanh(x)),
    "tanh_softplus": lambda g, x, y: g * ((_one(x) - y * y) * call("sigmoid", x)),
    "sin": lambda g, x, y: g * call("cos", x),
    "cos": lambda g, x, y: call("neg", g * call("sin", x)),
    "tan": lambda g, x, y: g * (_one(x) + y * y),
    "asin": lambda g, x, y: g / call("sqrt", (_one(x) - x) * (_one(x) + x)),
    "acos": lambda g, x, y: call("neg", g / call("sqrt", (_one(x) - x) * (_one(x) + x))),
    "atan": lambda g, x, y: g / (_one(x) + x * x),
    "sinh": lambda g, x, y: g * call("cosh", x),
    "cosh": lambda g, x, y: g * call("sinh", x),
    "asinh": lambda g, x, y: g / call("sqrt", _one(x) + x * x),
    "acosh": lambda g, x, y: g / (call("sqrt", x - _one(x)) * call("sqrt", x + _one(x))),
    "atanh": lambda g, x, y: g / ((_one(x) - x) * (_one(x) + x)),
}
"""Name of a function y = f(x) → g · f′(x), from y where that says it."""
