"""Whether the rows of a nest are short: those of its innermost loop and of its reductions."""

from __future__ import annotations

from collections.abc import Container, Iterator
from math import prod

from tbe_impl.codegen.axis_merging import extent_of
from tbe_impl.codegen.partition import Nest
from tbe_impl.dsl.expr import Reduce, reads

SHORT = 64
"""Elements up to which a row is short: four at once are 1.1 to 3 times as quick as one. Of longer ones, which lie in several
places of memory, one after the other comes sooner than four side by side: they take up to twice as long."""


def has_short_rows(nest: Nest, stored: Container[int]) -> bool:
    """Whether all rows are.

    Args:
        stored: ``id`` of the tensors that lie in memory when the nest begins.
    """
    rows = [] if nest.along or not nest.loops else [nest.loops[-1][1].constant]
    return all(length is not None and length <= SHORT for length in (*rows, *_summed(nest, stored)))


def _summed(nest: Nest, stored: Container[int]) -> Iterator[int | None]:
    """How many elements each sum has that is computed anew for each element or row; None where that is not known."""
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
