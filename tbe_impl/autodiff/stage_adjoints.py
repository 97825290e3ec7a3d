"""The backward of one stage from its scalar expressions: elementwise stages, movements, reductions, raw computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from tbe_impl.autodiff.access_adjoints import Places, gathered, is_onto
from tbe_impl.autodiff.scalar_derivatives import Gate, Term, derivatives, opening
from tbe_impl.dsl.expr import Expr, Read, Reduce, binary, const, identical, select
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Operation, Tensor, compute, fresh_name

RECTIFIERS = frozenset({"vaddrelu", "vsubrelu", "vmaddrelu"})
"""Words whose maximum with 0 is that of ReLU."""


@dataclass(frozen=True)
class Adjoint:
    """What a tensor gets.

    Attributes:
        value: of its shape and dtype.
        gate: gives a bool tensor that is false where the value is 0 because the forward left the element out; None when it
            left out none.
    """

    value: Tensor
    gate: Callable[[], Tensor] | None = None


def together(adjoints: Sequence[Adjoint]) -> Adjoint:
    """Their sum."""
    if len(adjoints) == 1:
        return adjoints[0]
    parts = [adjoint.value for adjoint in adjoints]

    def total(*index: Expr) -> Expr:
        found: Expr = parts[0](*index)
        for part in parts[1:]:
            found = found + part(*index)
        return found

    value: Tensor = compute(parts[0].shape, total, fresh_name("gradient"))
    gates = [adjoint.gate for adjoint in adjoints if adjoint.gate is not None]
    if len(gates) < len(adjoints):
        return Adjoint(value)

    @cache
    def either() -> Tensor:
        opened = [gate() for gate in gates]

        def one(*index: Expr) -> Expr:
            found: Expr = opened[0](*index)
            for gate in opened[1:]:
                found = binary("or", found, gate(*index))
            return found

        made: Tensor = compute(value.shape, one, fresh_name("gate"))
        return made

    return Adjoint(value, either)


def backward(
    op: Operation,
    adjoints: Sequence[Adjoint | None],
    is_active: Callable[[Tensor], bool],
    steps: Callable[[Expr], None],
) -> list[tuple[Tensor, Adjoint]]:
    """What the tensors that a stage reads get from it.

    Args:
        op: a stage with expressions.
        adjoints: one for each of its outputs.
        is_active: whether a tensor is asked for.
        steps: as `derivatives` has it.
    """
    found: list[tuple[Tensor, Adjoint]] = []
    for output, body, adjoint in zip(op.outputs, op.body, adjoints, strict=True):
        if adjoint is None:
            continue
        source, condition, known = body, None, {}
        term = _at(adjoint, op)
        if isinstance(body, Reduce):
            source, condition = body.source, body.condition
            term = _reduced(op, body, output, term)
        elif not isinstance(body, Read):
            known = {id(body): output(*op.axis)}
        parts = derivatives(
            source,
            term,
            known,
            lambda read: is_active(read.tensor),
            steps,
            rectifier=op.word is not None and op.word.name in RECTIFIERS,
        )
        for group in _by_element(parts):
            read = group[0][0]
            axes = (*op.axis, *(body.axes if isinstance(body, Reduce) else ()))
            places = Places(read.tensor, read.indices, axes, condition)
            for _, part in group:
                found.append((read.tensor, _brought(places, part)))
    return found


def _at(adjoint: Adjoint, op: Operation) -> Term:
    """The adjoint of an output at the place of the stage's axes."""
    gate = adjoint.gate
    if gate is None:
        return Term(adjoint.value(*op.axis))
    return Term.of_adjoint(adjoint.value(*op.axis), (Gate(cache(lambda: gate()(*op.axis))),))


def _by_element(parts: Sequence[tuple[Read, Term]]) -> list[list[tuple[Read, Term]]]:
    """The parts for one element together."""
    groups: list[list[tuple[Read, Term]]] = []
    for part in parts:
        for group in groups:
            one, other = group[0][0], part[0]
            if one.tensor is other.tensor and all(map(identical, one.indices, other.indices)):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


def _brought(places: Places, term: Term) -> Adjoint:
    """A term of an expression as the adjoint of the tensor that is read."""
    value = gathered(places, term.closed())
    if not term.gates and is_onto(places):
        return Adjoint(value)

    @cache
    def gate() -> Tensor:
        opened = opening(term.gates)
        return gathered(places, const(True, "bool") if opened is None else opened, any_of=True)

    return Adjoint(value, gate)


def _reduced(op: Operation, body: Reduce, output: Tensor, term: Term) -> Term:
    """The adjoint of what is reduced, from that of the result."""
    if body.op == "sum":
        return term
    if body.op == "prod":
        return _product(op, body, term)
    # what is not beyond the extreme is the extreme; beside NaN everything is
    beyond = binary("lt" if body.op == "max" else "gt", body.source, output(*op.axis))
    dtype, zero = term.value.dtype, const(0, term.value.dtype)
    counted = select(beyond, zero, const(1, dtype))
    number = _over_again(op, body, "sum", counted, "ties")
    share = select(beyond, zero, term.value / number(*op.axis))
    return term.behind(cache(lambda: beyond), holds=False, value=share)


def _product(op: Operation, body: Reduce, term: Term) -> Term:
    """The product of the others: that of all divided by the element, and without the one 0 that there is."""
    source, dtype = body.source, term.value.dtype
    zero, one = const(0, dtype), const(1, dtype)
    is_zero = binary("eq", source, zero)
    zeros = _over_again(op, body, "sum", select(is_zero, one, zero), "zeros")(*op.axis)
    rest = _over_again(op, body, "prod", select(is_zero, one, source), "product")(*op.axis)
    alone = binary("and", binary("eq", zeros, one), is_zero)
    others = select(binary("eq", zeros, zero), rest / source, select(alone, rest, zero))
    return term.times(term.value * others)


def _over_again(op: Operation, body: Reduce, operation: str, source: Expr, name: str) -> Tensor:
    """Another reduction over what a stage reduces, of its shape."""

    def again(*index: Expr) -> Expr:
        new = {id(old): now for old, now in zip(op.axis, index, strict=True)}
        condition = None if body.condition is None else substitute(body.condition, new)
        return Reduce(operation, substitute(source, new), body.axes, condition)

    made: Tensor = compute(op.outputs[0].shape, again, fresh_name(name))
    return made
