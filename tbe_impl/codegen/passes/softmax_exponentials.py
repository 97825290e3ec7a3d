"""Recognises exp(x − rowmax), for which a short polynomial is exact enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tbe_impl.dsl.expr import Binary, Call, Expr, IterVar, Read, Reduce, const, is_identical, walk
from tbe_impl.dsl.sizes import is_same_size
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, stages_of


def find_softmax_exponentials(outputs: Sequence[Tensor]) -> frozenset[int]:
    """Returns the ``id`` of each call exp(x − m) in a graph.

    Here, m is NaN or the maximum of several values, one of which is x.
    """
    return frozenset(
        id(node) for node in _all_expressions(outputs) if _is_softmax_exponential(node)
    )


def find_softmax_quotients(outputs: Sequence[Tensor]) -> frozenset[int]:
    """Returns the ``id`` of each quotient exp(x − m) / y in a graph.

    `find_softmax_exponentials` defines m. Such a quotient may be computed as a product with 1 / y.
    The additional error is smaller than the error that comes from rounding x − m.
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
    """Returns whether a value is x − m, where m is a maximum over several values, one of them x."""
    *_, difference = follow_reads(node)
    if not isinstance(difference, Binary) or difference.op != "sub":
        return False
    *_, largest = follow_reads(difference.b)
    if not isinstance(largest, Reduce) or largest.op != "max" or largest.condition is not None:
        return False
    return any(_is_reduced_element(one, largest) for one in follow_reads(difference.a))


def follow_reads(node: Expr) -> Iterator[Expr]:
    """Yields `node`, and follows reads of stages.

    If a yielded node is a read of a stage, the body of this stage is yielded next. The axes of the
    body are replaced by the indices of the read.
    """
    yield node
    while isinstance(node, Read) and node.tensor.op.body:
        tensor = node.tensor
        axes = {
            axis.serial: index for axis, index in zip(tensor.op.axis, node.indices, strict=True)
        }
        node = _inline_body(tensor.op.body[tensor.value_index], axes)
        yield node


def _inline_body(body: Expr, axes: Mapping[int, Expr]) -> Expr:
    """Returns a stage's body with its axes replaced by the indices of an element.

    `axes` maps the serial number of an axis to its index.
    """
    own = {
        id(node): axes[node.serial]
        for node in walk(body)
        if isinstance(node, IterVar) and node.serial in axes
    }
    return substitute(body, own)


def _is_reduced_element(node: Expr, largest: Reduce) -> bool:
    """Returns whether an element is one of the elements that `largest` reduces.

    The element and the operand of `largest` must be reads of one tensor. The indices of both reads
    must be equal, except along the reduced axes. The reduction must cover each reduced axis of the
    tensor completely.
    """
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
    """Returns whether an index covers an axis of extent `size` completely."""
    return (
        isinstance(index, IterVar)
        and index.dom is not None
        and is_same_size(index.dom.min, const(0))
        and is_same_size(index.extent, size)
    )
