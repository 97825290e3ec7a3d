"""Tests whether the rows of a nest's innermost loop and of its reductions are short."""

from __future__ import annotations

from collections.abc import Container, Iterator
from math import prod

from tbe_impl.codegen.planning.access_analysis import extent_of
from tbe_impl.codegen.planning.partition import LoopNest
from tbe_impl.dsl.expr import Reduce, reads

MAX_SHORT_ROW = 64
"""Maximum number of elements in a short row.

Processing four short rows at once is 1.1 to 3 times as fast as processing one row at a time. The
starts of longer rows are far apart in memory. Processing four of these rows at once is up to twice
as slow as processing one row at a time.
"""


def has_short_rows(nest: LoopNest, stored: Container[int]) -> bool:
    """Returns whether all rows of a nest are short.

    Args:
        nest: the nest.
        stored: ``id`` of the tensors in memory when the nest begins.
    """
    rows = [] if nest.along or not nest.loops else [nest.loops[-1][1].constant]
    return all(
        length is not None and length <= MAX_SHORT_ROW
        for length in (*rows, *_reduction_lengths(nest, stored))
    )


def _reduction_lengths(nest: LoopNest, stored: Container[int]) -> Iterator[int | None]:
    """Yields the trip count of each reduction in a nest, or None for an unknown trip count.

    Results of the nest that are column reductions are left out.
    """
    waiting, seen = [root.tensor for root in nest.roots], set[int]()
    columns = {id(root.tensor) for root in nest.roots if root.columns}
    while waiting:
        tensor = waiting.pop()
        if id(tensor) in seen or id(tensor) in stored or not tensor.op.body:
            continue
        seen.add(id(tensor))
        body = tensor.op.body[tensor.value_index]
        if isinstance(body, Reduce) and id(tensor) not in columns:
            extents = [extent_of(axis).constant for axis in body.axes]
            yield (
                None
                if None in extents
                else prod(extent for extent in extents if extent is not None)
            )
        waiting += [one.tensor for one in reads(body)]
