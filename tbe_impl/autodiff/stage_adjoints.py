"""Differentiates a stage (elementwise, data movement or reduction) by its scalar expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from tbe_impl.autodiff.access_adjoints import ReadAccess, is_onto, scatter_add
from tbe_impl.autodiff.scalar_derivatives import (
    Gate,
    Term,
    differentiate_expression,
    gate_condition,
)
from tbe_impl.dsl.expr import Expr, Read, Reduce, const, is_identical, make_binary, select
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Operation, Tensor, compute, fresh_name

RELU_OPERATIONS = frozenset({"vaddrelu", "vsubrelu", "vmaddrelu"})
"""DSL operations that contain a ReLU, written as a maximum with 0."""


@dataclass(frozen=True)
class Adjoint:
    """The adjoint of a tensor.

    Attributes:
        value: tensor with the adjoint, of the same shape and dtype.
        gate: a function that builds a bool tensor of the same shape. The bool tensor is false for
            each element that the forward graph discards. The adjoint of such an element is 0.
            `gate` is None if no element is discarded.
    """

    value: Tensor
    gate: Callable[[], Tensor] | None = None


def sum_adjoints(adjoints: Sequence[Adjoint]) -> Adjoint:
    """Adds adjoints of one tensor.

    The gate of the sum is the logical or of all gates.
    """
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
                found = make_binary("or", found, gate(*index))
            return found

        return compute(value.shape, one, fresh_name("gate"))

    return Adjoint(value, either)


def differentiate_stage(
    op: Operation,
    adjoints: Sequence[Adjoint | None],
    is_active: Callable[[Tensor], bool],
    steps: Callable[[Expr], None],
) -> list[tuple[Tensor, Adjoint]]:
    """Computes the adjoints of the tensors that a stage reads.

    Args:
        op: a stage with expressions.
        adjoints: one entry for each output: the adjoint, or None if there is no adjoint.
        is_active: a predicate that is true for each tensor that needs an adjoint.
        steps: see `differentiate_expression`.

    Returns:
        A list of pairs (tensor, contribution to the adjoint of the tensor). A tensor may occur in
        several pairs.
    """
    found: list[tuple[Tensor, Adjoint]] = []
    for output, body, adjoint in zip(op.outputs, op.body, adjoints, strict=True):
        if adjoint is None:
            continue
        source, condition, known = body, None, {}
        term = _adjoint_term(adjoint, op)
        if isinstance(body, Reduce):
            source, condition = body.source, body.condition
            term = _reduction_term(op, body, output, term)
        elif not isinstance(body, Read):
            known = {id(body): output(*op.axis)}
        parts = differentiate_expression(
            source,
            term,
            known,
            lambda read: is_active(read.tensor),
            steps,
            rectifier=op.dsl_call is not None and op.dsl_call.name in RELU_OPERATIONS,
        )
        for group in _group_by_element(parts):
            read = group[0][0]
            axes = (*op.axis, *(body.axes if isinstance(body, Reduce) else ()))
            places = ReadAccess(read.tensor, read.indices, axes, condition)
            for _, part in group:
                found.append((read.tensor, _scatter_term(places, part)))
    return found


def _adjoint_term(adjoint: Adjoint, op: Operation) -> Term:
    """Creates the term that reads the adjoint of an output at the axes of the stage."""
    gate = adjoint.gate
    if gate is None:
        return Term(adjoint.value(*op.axis))
    return Term.from_adjoint(adjoint.value(*op.axis), (Gate(cache(lambda: gate()(*op.axis))),))


def _group_by_element(parts: Sequence[tuple[Read, Term]]) -> list[list[tuple[Read, Term]]]:
    """Groups pairs (read, adjoint term), so that the reads of a group read the same element."""
    groups: list[list[tuple[Read, Term]]] = []
    for part in parts:
        for group in groups:
            one, other = group[0][0], part[0]
            if one.tensor is other.tensor and all(map(is_identical, one.indices, other.indices)):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


def _scatter_term(places: ReadAccess, term: Term) -> Adjoint:
    """Returns the part of a tensor's adjoint that one term contributes.

    `places` describes the elements of the tensor that were read.
    """
    value = scatter_add(places, term.gated_value())
    if not term.gates and is_onto(places):
        return Adjoint(value)

    @cache
    def gate() -> Tensor:
        opened = gate_condition(term.gates)
        return scatter_add(places, const(True, "bool") if opened is None else opened, any_of=True)

    return Adjoint(value, gate)


def _reduction_term(op: Operation, body: Reduce, output: Tensor, term: Term) -> Term:
    """Converts the adjoint term of a reduction to the adjoint term of the reduced expression."""
    if body.op == "sum":
        return term
    if body.op == "prod":
        return _product_term(op, body, term)
    # An element gets no adjoint only if it compares as smaller than the maximum (or as larger than
    # the minimum). Comparisons with NaN are false, so every element counts if the extreme is NaN.
    beyond = make_binary("lt" if body.op == "max" else "gt", body.source, output(*op.axis))
    dtype, zero = term.value.dtype, const(0, term.value.dtype)
    counted = select(beyond, zero, const(1, dtype))
    number = _reduce_over_same_axes(op, body, "sum", counted, "ties")
    share = select(beyond, zero, term.value / number(*op.axis))
    return term.add_gate(cache(lambda: beyond), holds=False, value=share)


def _product_term(op: Operation, body: Reduce, term: Term) -> Term:
    """Differentiates a product reduction.

    The adjoint of an element is the adjoint of the result times the product of all other elements.
    If no element is 0, this product is the total product divided by the element. If exactly one
    element is 0, the product for this element is that of all non-zero elements, and for every other
    element the product is 0. If several elements are 0, all products are 0.
    """
    source, dtype = body.source, term.value.dtype
    zero, one = const(0, dtype), const(1, dtype)
    is_zero = make_binary("eq", source, zero)
    zeros = _reduce_over_same_axes(op, body, "sum", select(is_zero, one, zero), "zeros")(*op.axis)
    rest = _reduce_over_same_axes(op, body, "prod", select(is_zero, one, source), "product")(
        *op.axis
    )
    alone = make_binary("and", make_binary("eq", zeros, one), is_zero)
    others = select(make_binary("eq", zeros, zero), rest / source, select(alone, rest, zero))
    return term.multiply(term.value * others)


def _reduce_over_same_axes(
    op: Operation, body: Reduce, operation: str, source: Expr, name: str
) -> Tensor:
    """Creates a stage that reduces `source` by `operation`.

    The new stage has the reduction axes, condition and shape of the reduction `body` of `op`.
    """

    def repeat_reduction(*index: Expr) -> Expr:
        new = {id(old): now for old, now in zip(op.axis, index, strict=True)}
        condition = None if body.condition is None else substitute(body.condition, new)
        return Reduce(operation, substitute(source, new), body.axes, condition)

    return compute(op.outputs[0].shape, repeat_reduction, fresh_name(name))
