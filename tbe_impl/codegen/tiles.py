"""Infers the region of a stage that the inner loops of another stage read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tbe_impl.codegen.loop_levels import Index, polys_of
from tbe_impl.codegen.planning.access_analysis import index_poly, size_poly
from tbe_impl.codegen.planning.polynomials import ONE, Poly
from tbe_impl.dsl.expr import Expr, Read, Reduce
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.records import Record

if TYPE_CHECKING:
    from tbe_impl.codegen.lowering import Lowering


class Span(Record):
    """The range of an index: first value and number of values; some values may be out of bounds."""

    first: Poly
    size: Poly


def tile_of(
    tensor: Tensor,
    inside: Lowering,
    source: Expr,
    axes: Mapping[int, Index],
    settled: frozenset[int],
) -> tuple[Span, ...] | None:
    """Returns the region of a tensor that is read while the variables `settled` are constant.

    The region has one range per dimension. Returns None if the region is one element or cannot be
    determined.

    Args:
        tensor: the tensor whose region is inferred.
        inside: lowering that knows the loops and their enclosing blocks.
        source: the expression that reads the tensor, directly or through unstored stages.
        axes: maps the serial number (`IterVar.serial`) of an axis of `source` to its index.
        settled: variables of the loops around the tile.
    """
    known = polys_of(axes)
    extents = dict(inside.extents)
    reads = list(_read_indices(tensor, source, known, set(inside.buffers), extents))
    if not reads or any(None in read for read in reads):
        return None
    spans = (
        _hull([_span(read[place], inside, extents, settled) for read in reads])
        for place in range(len(tensor.shape))
    )
    found = tuple(span for span in spans if span is not None)
    is_known = len(found) == len(tensor.shape)
    return found if is_known and any(span.size != ONE for span in found) else None


def _read_indices(
    tensor: Tensor,
    node: Expr,
    environment: dict[int, Poly | None],
    stored: set[int],
    extents: dict[int, Poly],
) -> Iterator[tuple[Poly | None, ...]]:
    """Yields the indices of each read of `tensor`.

    The reads are in the expression `node`, or in the unstored stages that this expression reads.
    """
    if isinstance(node, Read):
        indices = tuple(index_poly(index, environment) for index in node.indices)
        for index in node.indices:
            yield from _read_indices(tensor, index, environment, stored, extents)
        op = node.tensor.op
        if node.tensor is tensor:
            yield indices
        elif id(node.tensor) not in stored and op.body:
            inner = {axis.serial: index for axis, index in zip(op.axis, indices, strict=True)}
            yield from _read_indices(
                tensor, op.body[node.tensor.value_index], inner, stored, extents
            )
        return
    if isinstance(node, Reduce):
        for axis in node.axes:
            if environment.get(axis.serial) is None:
                environment = environment | {axis.serial: Poly.variable(axis.serial)}
                extents[axis.serial] = size_poly(axis.extent) or ONE
    for child in node.children:
        yield from _read_indices(tensor, child, environment, stored, extents)


def _span(
    index: Poly | None, inside: Lowering, extents: Mapping[int, Poly], settled: frozenset[int]
) -> Span | None:
    """Returns the range of an index while the variables `settled` are constant.

    Returns None if the range is unknown.
    """
    if index is None:
        return None
    first, size = index, ONE
    for serial in index.variables & extents.keys() - settled:
        step = index.coefficient(serial)
        if step is None or step.constant is None:
            return None
        start, steps = inside.block_range(serial)
        reach = Poly.from_int(abs(step.constant)) * (steps - ONE)
        size = size + reach
        lowest = start if step.constant > 0 else start + steps - ONE
        first = first.substitute({serial: lowest})
    return Span(first, size)


def _hull(spans: Sequence[Span | None]) -> Span | None:
    """Returns the smallest range that covers all `spans`.

    Returns None if a span, or the distance between two spans, is unknown.
    """
    least = most = 0
    one = spans[0]
    for span in spans:
        if one is None or span is None:
            return None
        begin = (span.first - one.first).constant
        end = (span.first + span.size - one.first - one.size).constant
        if begin is None or end is None:
            return None
        least, most = min(least, begin), max(most, end)
    assert one is not None
    return Span(one.first + Poly.from_int(least), one.size + Poly.from_int(most - least))
