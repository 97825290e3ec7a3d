"""Recognises exp(x − rowmax), for the short polynomial that is exact enough there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tbe_impl.dsl.expr import Binary, Call, Expr, IterVar, Read, Reduce, const, is_identical, walk
from tbe_impl.dsl.sizes import is_same_size
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, stages_of


def find_softmax_exponentials(outputs: Sequence[Tensor]) -> frozenset[int]:
    """``id`` of the calls exp(x − m), with m the maximum of values that include x, or NaN."""
    return frozenset(
        id(node) for node in _all_expressions(outputs) if _is_softmax_exponential(node)
    )


def find_softmax_quotients(outputs: Sequence[Tensor]) -> frozenset[int]:
    """``id`` of the quotients exp(x − m) / y in a graph.

    The rounded difference x − m has a larger error than a product with 1 / y.
    """
    return frozenset(
        id(node)
        for node in _all_expressions(outputs)
        if isinstance(node, Binary)
        and node.op == "div"
        and any(map(_is_softmax_exponential, follow_reads(node.a)))
    )


def _all_expressions(outputs: Sequence[Tensor]) -> Iterator[Expr]:
    return (node for op in stages_of(outputs) for body in op.body for node in walk(body))


def _is_softmax_exponential(node: Expr) -> bool:
    return isinstance(node, Call) and node.name == "exp" and is_shifted_by_maximum(node.args[0])


def is_shifted_by_maximum(node: Expr) -> bool:
    """Whether a value is x − m, with m the maximum of values that include x, or NaN."""
    *_, difference = follow_reads(node)
    if not isinstance(difference, Binary) or difference.op != "sub":
        return False
    *_, largest = follow_reads(difference.b)
    if not isinstance(largest, Reduce) or largest.op != "max" or largest.condition is not None:
        return False
    return any(_is_reduced_element(one, largest) for one in follow_reads(difference.a))


def follow_reads(node: Expr) -> Iterator[Expr]:
    """Yields an expression, then the bodies that its reads inline to while it is a single read."""
    yield node
    while isinstance(node, Read) and node.tensor.op.body:
        tensor = node.tensor
        axes = {
            axis.serial: index for axis, index in zip(tensor.op.axis, node.indices, strict=True)
        }
        node = _inline_body(tensor.op.body[tensor.value_index], axes)
        yield node


def _inline_body(body: Expr, axes: Mapping[int, Expr]) -> Expr:
    """Substitutes the indices of an element for the axes of a stage's body."""
    own = {
        id(node): axes[node.serial]
        for node in walk(body)
        if isinstance(node, IterVar) and node.serial in axes
    }
    return substitute(body, own)


def _is_reduced_element(node: Expr, largest: Reduce) -> bool:
    """Whether an element is among the reduced ones: equal indices, except full reduced ranges."""
    source, reduced = largest.source, {axis.serial for axis in largest.axes}
    if (
        not isinstance(node, Read)
        or not isinstance(source, Read)
        or node.tensor is not source.tensor
    ):
        return False
    for here, there, size in zip(node.indices, source.indices, node.tensor.shape, strict=True):
        if isinstance(there, IterVar) and there.serial in reduced:
            reduced.remove(there.serial)
            if not is_full_range(there, size):
                return False
        elif not is_identical(here, there):
            return False
    return not reduced


def is_full_range(index: Expr, size: Expr) -> bool:
    """Whether an index covers an axis of that size completely."""
    return (
        isinstance(index, IterVar)
        and index.dom is not None
        and is_same_size(index.dom.min, const(0))
        and is_same_size(index.extent, size)
    )
