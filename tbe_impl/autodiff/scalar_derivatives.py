"""Differentiates a scalar expression with respect to every element that it reads.

The method is reverse mode. A value that the forward expression discards has the adjoint 0, even if
its own derivative is infinite. Discarded values are the branch that a select does not choose, and
the smaller operand of a maximum. A multiplication of the adjoint 0 by a derivative that is infinite
or NaN would give NaN. Therefore each term of an adjoint carries conditions, called *gates*. A gate
is false where the forward value is discarded. A select on the gates sets the term to 0 there.
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
    call,
    cast,
    const,
    make_binary,
    select,
    walk,
)
from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE
from tbe_impl.reachability import reachable


@dataclass(frozen=True)
class Gate:
    """A condition on a term of an adjoint; a term is 0 where one of its gates is closed.

    The gate is open where the condition has the truth value `holds`. The condition is built only
    when `expression` is called.

    Attributes:
        make: function that builds the condition.
        holds: the truth value that opens the gate.
    """

    make: Callable[[], Expr]
    holds: bool = True

    def expression(self) -> Expr:
        """Builds the expression that is true where the gate is open."""
        condition = self.make()
        return condition if self.holds else call("not", condition, dtype="bool")


@dataclass(frozen=True)
class Term:
    """A term of an adjoint.

    Attributes:
        value: an expression with the dtype of the differentiated node.
        gates: the gates of the term. The term is 0 where a gate is closed.
        closed_gates: number of leading gates that `value` already includes. Where one of these
            gates is closed, `value` is 0.
    """

    value: Expr
    gates: tuple[Gate, ...] = ()
    closed_gates: int = 0

    @classmethod
    def from_adjoint(cls, value: Expr, gates: tuple[Gate, ...]) -> Term:
        """Creates a term whose value is already 0 wherever one of its gates is closed."""
        return cls(value, gates, len(gates))

    def multiply(self, value: Expr) -> Term:
        """Returns the term with a new value, which may be inf or NaN where a gate is closed."""
        return Term(value, self.gates, 0)

    def add_gate(
        self, make: Callable[[], Expr], *, holds: bool = True, value: Expr | None = None
    ) -> Term:
        """Returns the term with one more gate.

        If `value` is given, it replaces the value of the term. `value` must be 0 where the new gate
        is closed.
        """
        gates = (*self.gates, Gate(make, holds))
        whole = value is not None and self.closed_gates == len(self.gates)
        return Term(
            self.value if value is None else value,
            gates,
            len(gates) if whole else self.closed_gates,
        )

    def gated_value(self) -> Expr:
        """Returns the value of the term, replaced by 0 where a gate is closed."""
        opened = gate_condition(self.gates[self.closed_gates :])
        if opened is None:
            return self.value
        return select(opened, self.value, const(0, self.value.dtype))


def gate_condition(gates: Sequence[Gate]) -> Expr | None:
    """Joins the conditions of all gates with `and`; returns None if there are no gates."""
    found: Expr | None = None
    for gate in gates:
        one = gate.expression()
        found = one if found is None else make_binary("and", found, one)
    return found


def _sum_terms(terms: Sequence[Term]) -> Term:
    """Adds terms.

    The gate of the sum is open where all gates of at least one term are open.
    """
    if len(terms) == 1:
        return terms[0]
    total = terms[0].gated_value()
    for term in terms[1:]:
        total = total + term.gated_value()
    shared: list[Gate] = []
    for gates in zip(*(term.gates for term in terms), strict=False):
        if any(gate is not gates[0] for gate in gates):
            break
        shared.append(gates[0])
    rest = [term.gates[len(shared) :] for term in terms]
    if not all(rest) or _has_complementary_gates(rest):
        return Term.from_adjoint(total, tuple(shared))

    @cache
    def either() -> Expr:
        opened = [gate_condition(gates) for gates in rest]
        found = opened[0]
        for one in opened[1:]:
            found = make_binary("or", found, one)
        assert found is not None
        return found

    return Term.from_adjoint(total, (*shared, Gate(either)))


def _has_complementary_gates(terms: Sequence[tuple[Gate, ...]]) -> bool:
    """Whether two terms have complementary conditions, so that always one of them is zero.

    Only terms with exactly one gate (condition) count. The gates are complementary if one is the
    negation of the other.
    """
    alone = [gates[0] for gates in terms if len(gates) == 1]
    sides = {(id(gate.make), gate.holds) for gate in alone}
    return any((make, not holds) in sides for make, holds in sides)


def _operands(node: Expr) -> tuple[Expr, ...]:
    """Returns the operands that a node uses as values, without indices and conditions."""
    if isinstance(node, Select):
        return (node.a, node.b)
    if isinstance(node, Read) or (isinstance(node, Binary) and node.op in COMPARISONS):
        return ()
    return node.children


def value_reads(expression: Expr) -> Iterator[Read]:
    """Returns the reads that an expression uses as values, not as indices or conditions."""
    nodes = reachable([expression], _operands, key=id)
    return (node for node in nodes if isinstance(node, Read))


def has_axis_as_value(expression: Expr) -> bool:
    """Whether an expression uses an axis as a value, not as an index or a condition."""
    return any(isinstance(node, IterVar) for node in reachable([expression], _operands, key=id))


def differentiate_expression(
    body: Expr,
    adjoint: Term,
    known: Mapping[int, Expr],
    is_active: Callable[[Read], bool],
    steps: Callable[[Expr], None],
    *,
    rectifier: bool = False,
) -> list[tuple[Read, Term]]:
    """Computes the adjoint term of each read of an expression.

    Args:
        body: the scalar expression to differentiate.
        adjoint: the adjoint of the value of `body`.
        known: a dict from the ``id`` of a node to a read of the tensor that holds its value.
        is_active: a predicate that is true for each read that needs an adjoint.
        steps: a function that is called with each integer or bool expression that is cast to float.
            The function raises `InputError` if the expression has no derivative.
        rectifier: whether a maximum with 0 is treated as a ReLU, with the derivative 0 at 0.

    Returns:
        A pair (read, term) for each active read.
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
            # visit the operands: `steps` has to see casts from integers below this node
            for child in _operands(node):
                terms.setdefault(id(child), [])
            continue
        given = terms[id(node)]
        if not given:
            continue
        term = _sum_terms(given)
        if isinstance(node, Read):
            found.append((node, term))
            continue
        value = known.get(id(node), node)
        passed = _operand_terms(node, value, term, rectifier)
        for child, make in zip(_operands(node), passed, strict=True):
            if id(child) in live:
                terms.setdefault(id(child), []).append(make())
            else:
                terms.setdefault(id(child), [])
    return found


_LazyTerms = tuple[Callable[[], Term], ...]


def _operand_terms(node: Expr, value: Expr, term: Term, rectifier: bool) -> _LazyTerms:
    """Returns one function for each operand; the function builds the operand's adjoint term.

    Args:
        node: the node to differentiate.
        value: an expression that has the value of `node`.
        term: the adjoint term of `node`.
        rectifier: see `differentiate_expression`.
    """
    if isinstance(node, Cast):
        return (lambda: replace(term, value=cast(node.value.dtype, term.value)),)
    if isinstance(node, Select):
        condition = node.condition
        make = cache(lambda: condition)
        return (lambda: term.add_gate(make), lambda: term.add_gate(make, holds=False))
    if isinstance(node, Binary):
        return _binary_terms(node, value, term, rectifier)
    assert isinstance(node, Call), node
    if node.name in ("atan2", "fmod"):
        return _binary_call_terms(node, term)
    x, g = node.args[0], term.value
    if node.name == "neg":
        return (lambda: replace(term, value=call("neg", g)),)
    if node.name == "relu":
        return (lambda: _select_term(term, make_binary("gt", x, const(0, x.dtype)), g),)
    if node.name in _STEP_FUNCTIONS:
        return (lambda: replace(term, value=const(0, x.dtype)),)
    return (lambda: term.multiply(_UNARY_DERIVATIVES[node.name](g, x, value)),)


def _select_term(term: Term, condition: Expr, value: Expr) -> Term:
    """Returns `term` with the value `value` where `condition` holds, and 0 elsewhere."""
    zero = const(0, value.dtype)
    return term.add_gate(cache(lambda: condition), value=select(condition, value, zero))


def _fold_constant_read(node: Expr) -> Expr:
    """Replaces a read of a constant-filled tensor by the constant; keeps other nodes unchanged."""
    found = node
    while isinstance(found, Read) and found.tensor.op.body:
        found = found.tensor.op.body[found.tensor.value_index]
    return found if isinstance(found, Const) else node


def _is_zero(expression: Expr) -> bool:
    return isinstance(expression, Const) and bool(expression.value == 0)


def _binary_terms(node: Binary, y: Expr, term: Term, rectifier: bool) -> _LazyTerms:
    a, b, g = _fold_constant_read(node.a), _fold_constant_read(node.b), term.value
    if node.op == "add":
        return (lambda: term, lambda: term)
    if node.op == "sub":
        return (lambda: term, lambda: replace(term, value=call("neg", g)))
    if node.op == "mul":
        return (lambda: _scale_term(term, b), lambda: _scale_term(term, a))
    if node.op == "div":
        ratio = g / b
        return (lambda: term.multiply(ratio), lambda: term.multiply(call("neg", ratio * y)))
    if node.op in ("max", "min"):
        return _extremum_terms(node, term, rectifier)
    if node.op == "pow":
        return (
            lambda: term.multiply(g * _power_base_derivative(a, b)),
            lambda: term.multiply(g * _power_exponent_derivative(a, b, y)),
        )
    zero = replace(term, value=const(0, g.dtype))
    if node.op in ("floormod", "truncmod"):
        whole = call("floor" if node.op == "floormod" else "trunc", a / b)
        return (lambda: term, lambda: term.multiply(call("neg", g * whole)))
    return (lambda: zero, lambda: zero)


def _scale_term(term: Term, factor: Expr) -> Term:
    value = term.value * factor
    if isinstance(factor, Const) and math.isfinite(factor.value):
        return replace(term, value=value)
    return term.multiply(value)


def _extremum_terms(node: Binary, term: Term, rectifier: bool) -> _LazyTerms:
    """Differentiates a maximum or minimum.

    The chosen operand gets the whole adjoint. Equal operands get one half each. If an operand is
    NaN, both operands get the whole adjoint.
    """
    a, b, g = _fold_constant_read(node.a), _fold_constant_read(node.b), term.value
    if rectifier and node.op == "max" and (_is_zero(a) or _is_zero(b)):
        other = b if _is_zero(a) else a
        share = lambda: _select_term(  # noqa: E731
            term,
            make_binary("gt", other, const(0, g.dtype)),
            g,
        )
        return (share, share)
    half, zero = g * const(0.5, g.dtype), const(0, g.dtype)

    def side(lost: str) -> Term:
        left_out = make_binary(lost, a, b)
        value = select(left_out, zero, select(make_binary("eq", a, b), half, g))
        return term.add_gate(cache(lambda: left_out), holds=False, value=value)

    first, second = ("lt", "gt") if node.op == "max" else ("gt", "lt")
    return (lambda: side(first), lambda: side(second))


def _power_base_derivative(x: Expr, p: Expr) -> Expr:
    """Returns ∂(x^p)/∂x = p·x^(p − 1), or 0 for p = 0."""
    if isinstance(p, Const):
        if p.value == 0:
            return const(0, x.dtype)
        if p.value == 1:
            return const(1, x.dtype)
        return (
            x * const(2, x.dtype)
            if p.value == 2
            else p * make_binary("pow", x, p - const(1, p.dtype))
        )
    zero = const(0, x.dtype)
    return select(
        make_binary("eq", p, zero), zero, p * make_binary("pow", x, p - const(1, p.dtype))
    )


def _power_exponent_derivative(x: Expr, p: Expr, y: Expr) -> Expr:
    """Returns ∂(x^p)/∂p = y · ln x with y = x^p, or 0 for x = 0 and p ≥ 0."""
    zero = const(0, x.dtype)
    flat = make_binary("and", make_binary("eq", x, zero), make_binary("ge", p, zero))
    if isinstance(flat, bool):
        return zero if flat else y * call("log", x)
    return select(flat, zero, y * call("log", x))


def _binary_call_terms(node: Call, term: Term) -> _LazyTerms:
    (a, b), g = node.args, term.value
    if node.name == "fmod":
        return (lambda: term, lambda: term.multiply(call("neg", g * call("trunc", a / b))))
    square = a * a + b * b
    return (
        lambda: term.multiply(g * b / square),
        lambda: term.multiply(call("neg", g * a / square)),
    )


_STEP_FUNCTIONS = frozenset({"floor", "ceil", "rint", "round_away", "trunc", "sign"})
"""Functions whose derivative is 0."""


def _one_like(x: Expr) -> Const:
    return const(1, x.dtype)


def _constant_like(value: float, x: Expr) -> Const:
    return const(value, x.dtype)


def _ndtr_tanh_inner_derivative(x: Expr) -> Expr:
    """Returns the derivative of 2·√(2/π)·(x + 0.044715·x³), the argument of the sigmoid.

    x² is clamped to 1e4, so that the result stays finite. Where x² exceeds 1e4, the sigmoid is
    saturated and the sigmoid's derivative is 0. The chain rule multiplies the result by this 0.
    Therefore, the clamp does not change the gradient.
    """
    square = make_binary("min", x * x, _constant_like(1e4, x))
    cubic = _constant_like(3 * CUBIC * SIGMOID_SCALE, x)
    return square * cubic + _constant_like(SIGMOID_SCALE, x)


_UNARY_DERIVATIVES: Mapping[str, Callable[[Expr, Expr, Expr], Expr]] = {
    "abs": lambda g, x, y: g * call("sign", x),
    "sqrt": lambda g, x, y: g * _constant_like(0.5, x) / y,
    "rsqrt": lambda g, x, y: g * _constant_like(-0.5, x) * (y * y * y),
    "rec": lambda g, x, y: call("neg", g * y * y),
    "exp": lambda g, x, y: g * y,
    "exp2": lambda g, x, y: g * (y * _constant_like(math.log(2), x)),
    "expm1": lambda g, x, y: g * call("exp", x),
    "log": lambda g, x, y: g / x,
    "log2": lambda g, x, y: g * _constant_like(1 / math.log(2), x) / x,
    "log10": lambda g, x, y: g * _constant_like(1 / math.log(10), x) / x,
    "log1p": lambda g, x, y: g / (x + _one_like(x)),
    "tanh": lambda g, x, y: g * (_one_like(x) - y * y),
    "sigmoid": lambda g, x, y: g * (y * (_one_like(x) - y)),
    "erf": lambda g, x, y: (
        g * (_constant_like(2 / math.sqrt(math.pi), x) * call("exp", call("neg", x * x)))
    ),
    "erfc": lambda g, x, y: (
        g * (_constant_like(-2 / math.sqrt(math.pi), x) * call("exp", call("neg", x * x)))
    ),
    "ndtr": lambda g, x, y: (
        g
        * (
            _constant_like(1 / math.sqrt(2 * math.pi), x)
            * call("exp", _constant_like(-0.5, x) * (x * x))
        )
    ),
    "ndtr_tanh": lambda g, x, y: g * (y * (_one_like(x) - y) * _ndtr_tanh_inner_derivative(x)),
    "tanh_softplus": lambda g, x, y: g * ((_one_like(x) - y * y) * call("sigmoid", x)),
    "sin": lambda g, x, y: g * call("cos", x),
    "cos": lambda g, x, y: call("neg", g * call("sin", x)),
    "tan": lambda g, x, y: g * (_one_like(x) + y * y),
    "asin": lambda g, x, y: g / call("sqrt", (_one_like(x) - x) * (_one_like(x) + x)),
    "acos": lambda g, x, y: call("neg", g / call("sqrt", (_one_like(x) - x) * (_one_like(x) + x))),
    "atan": lambda g, x, y: g / (_one_like(x) + x * x),
    "sinh": lambda g, x, y: g * call("cosh", x),
    "cosh": lambda g, x, y: g * call("sinh", x),
    "asinh": lambda g, x, y: g / call("sqrt", _one_like(x) + x * x),
    "acosh": lambda g, x, y: g / (call("sqrt", x - _one_like(x)) * call("sqrt", x + _one_like(x))),
    "atanh": lambda g, x, y: g / ((_one_like(x) - x) * (_one_like(x) + x)),
}
"""Dict from the name of a function y = f(x) to a function that returns the adjoint of x.

The function takes (g, x, y), where g is the adjoint of y, and returns g · f′(x). The derivative
f′ is computed from x or from y, whichever is cheaper.
"""
