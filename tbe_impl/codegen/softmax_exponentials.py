"""Recognises exp(x - rowmax) and emits the short polynomial that is exact enough there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tbe_impl.dsl.expr import Binary, Call, Expr, IterVar, Read, Reduce, const, identical, walk
from tbe_impl.dsl.sizes import same_size
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, stages_of


def exponentials_of_deficits(outputs: Sequence[Tensor]) -> frozenset[int]:
    """``id`` of the calls exp(x − m) in a graph where m is the largest of numbers that x is one of, or NaN."""
    return frozenset(id(node) for node in _nodes(outputs) if _is_of_deficit(node))


def quotients_of_exponentials(outputs: Sequence[Tensor]) -> frozenset[int]:
    """``id`` of the quotients exp(x − m) / y: the rounded difference is off by more than a product with 1 / y is."""
    return frozenset(
        id(node)
        for node in _nodes(outputs)
        if isinstance(node, Binary)
        and node.op == "div"
        and any(map(_is_of_deficit, followed(node.a)))
    )


def _nodes(outputs: Sequence[Tensor]) -> Iterator[Expr]:
    return (node for op in stages_of(outputs) for body in op.body for node in walk(body))


def _is_of_deficit(node: Expr) -> bool:
    return isinstance(node, Call) and node.name == "exp" and is_deficit(node.args[0])


def is_deficit(node: Expr) -> bool:
    """Whether a value is x − m, where m is the largest of numbers that x is one of, or NaN."""
    *_, difference = followed(node)
    if not isinstance(difference, Binary) or difference.op != "sub":
        return False
    *_, largest = followed(difference.b)
    if not isinstance(largest, Reduce) or largest.op != "max" or largest.condition is not None:
        return False
    return any(_is_among(one, largest) for one in followed(difference.a))


def followed(node: Expr) -> Iterator[Expr]:
    """An expression, and what it reads in its place as long as that is one element of one tensor."""
    yield node
    while isinstance(node, Read) and node.tensor.op.body:
        tensor = node.tensor
        axes = {
            axis.serial: index for axis, index in zip(tensor.op.axis, node.indices, strict=True)
        }
        node = _at(tensor.op.body[tensor.value_index], axes)
        yield node


def _at(body: Expr, axes: Mapping[int, Expr]) -> Expr:
    """A stage's body for an element: with what stands for its axes."""
    own = {
        id(node): axes[node.serial]
        for node in walk(body)
        if isinstance(node, IterVar) and node.serial in axes
    }
    return substitute(body, own)


def _is_among(node: Expr, largest: Reduce) -> bool:
    """Whether an element is one of those that are reduced: the same indices, but for those that go through all there are."""
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
            if not is_whole(there, size):
                return False
        elif not identical(here, there):
            return False
    return not reduced


def is_whole(index: Expr, size: Expr) -> bool:
    """Whether an index goes through all that there are along an axis of that size."""
    return (
        isinstance(index, IterVar)
        and index.dom is not None
        and same_size(index.dom.min, const(0))
        and same_size(index.extent, size)
    )
