"""Variants of ``gather`` and ``gather_nd``: axes merged as the toolkit's classifier merges them.

Operator files count on that form: ``gather(params, indices, batch_dims + 1, batch_dims)`` is right for it alone, whatever axis
the operator was called with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tbe_impl.compat.faults import fault

Groups = tuple[tuple[int, ...], ...]
"""For each axis of the variant the axes of the declared tensor that it merges; none for an axis of size 1."""


def gather_variant(
    params: Mapping[str, Any], indices: Mapping[str, Any], axis: int | None, batch_dims: int
) -> list[Any]:
    """One variant of ``gather``: params as (batch, before, rows, rest), indices as (batch, count), axis 2, 1 batch axis.

    Args:
        params, indices: as declared.
        axis: of params; the first after the batch when none is given.
        batch_dims: leading axes that both share; negative ones count from the back of the indices.

    Raises:
        OperatorError: there is no such axis, or no such batch.
    """
    rank, places = len(params["shape"]), len(indices["shape"])
    batch = _batch(batch_dims, places, rank)
    along = batch if axis is None else axis + rank if axis < 0 else axis
    if not batch <= along < rank:
        raise fault(
            "E90001",
            f"gather: axis {axis} is outside of params {tuple(params['shape'])} behind {batch} batch axes",
            detailed_cause=f"axis must be in range [{batch}, {rank - 1}], but is {axis}",
        )
    any_unknown = _is_unknown(params) or _is_unknown(indices)
    shared = tuple(range(batch))
    groups = (shared, tuple(range(batch, along)), (along,), tuple(range(along + 1, rank)))
    return [
        _merged(params, groups, any_unknown=any_unknown),
        _merged(indices, (shared, tuple(range(batch, places))), any_unknown=any_unknown),
        2,
        1,
    ]


def gather_nd_variant(
    params: Mapping[str, Any], indices: Mapping[str, Any], batch_dims: int
) -> list[Any]:
    """One variant of ``gather_nd``: params as (batch, indexed axes, rest), indices as (batch, count, depth), 1 batch axis.

    Args:
        params, indices: as declared; the last size of the indices is known.
        batch_dims: as `gather_variant` has it.

    Raises:
        OperatorError: the last size of the indices is not known, or they index more axes than there are.
    """
    rank, places = len(params["shape"]), len(indices["shape"])
    batch = _batch(batch_dims, places - 1, rank)
    depth = indices["shape"][-1]
    if depth < 0 or batch + depth > rank:
        raise fault(
            "E90001",
            f"gather_nd: the last size of the indices has to be known and at most {rank - batch}, but is {depth}",
            detailed_cause="indices",
        )
    any_unknown = _is_unknown(params) or _is_unknown(indices)
    shared = tuple(range(batch))
    indexed = tuple((axis,) for axis in range(batch, batch + depth))
    rest = tuple(range(batch + depth, rank))
    return [
        _merged(params, (shared, *indexed, rest), any_unknown=any_unknown),
        _merged(
            indices,
            (shared, tuple(range(batch, places - 1)), (places - 1,)),
            any_unknown=any_unknown,
            known=(places - 1,),
        ),
        1,
    ]


def _batch(batch_dims: Any, places: int, rank: int) -> int:
    if not isinstance(batch_dims, int):
        raise fault(
            "E90001",
            f"batch_dims of a gather has to be known when its operator is built, but is {batch_dims!r}",
            detailed_cause="batch_dims is unknown",
        )
    batch = batch_dims + places if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(places, rank):
        raise fault(
            "E90001",
            f"a gather has no {batch_dims} batch axes: params have {rank} axes, indices {places}",
            detailed_cause="batch_dims",
        )
    return batch


def _is_unknown(item: Mapping[str, Any]) -> bool:
    return any(size < 0 for size in item["shape"])


def _merged(
    item: Mapping[str, Any], groups: Groups, *, any_unknown: bool, known: Sequence[int] = ()
) -> dict[str, Any]:
    """A description with merged axes.

    Where a size of the operator is unknown, all but those of `known` are taken so.
    """
    sizes = list(item["shape"])

    def merged(group: tuple[int, ...]) -> int:
        if any_unknown and any(axis not in known for axis in group):
            return -1
        return prod(sizes[axis] for axis in group)

    shape = [merged(group) for group in groups]
    return {
        **item,
        "shape": shape,
        "range": [(1, None) if size < 0 else (size, size) for size in shape],
        "mode": "original" if any_unknown else "const",
        "const_shape": list(shape),
        "merged_axes": groups,
    }
