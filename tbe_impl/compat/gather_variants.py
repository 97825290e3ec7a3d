"""Builds the variants of ``gather`` and ``gather_nd``; merges axes as the CANN toolkit does.

Operator files depend on merged axes. Whatever the axis of the operator is, the files call
``gather(params, indices, batch_dims + 1, batch_dims)``. This call is correct for merged axes only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tbe_impl.compat.operator_errors import fault

AxisGroups = tuple[tuple[int, ...], ...]
"""One tuple for each axis of the variant: the axes of the input that are merged into this axis.

The tuple is empty for an added axis of size 1.
"""


def gather_variant(
    params: Mapping[str, Any], indices: Mapping[str, Any], axis: int | None, batch_dims: int
) -> list[Any]:
    """Returns the variant [params, indices, axis, batch_dims] of ``gather``.

    In the variant, `params` have the shape (batch, before, rows, rest) and `indices` have the shape
    (batch, count). The axis is 2, and there is 1 batch axis. `before` is the product of the sizes
    between the batch axes and `axis`. `rows` is the size of `axis`. `rest` is the product of the
    sizes after `axis`.

    Args:
        params, indices: the declared tensor descriptions.
        axis: an axis of `params`; None selects the first axis after the batch axes.
        batch_dims: number of leading axes that `params` and `indices` share. If `batch_dims` is
            negative, the rank of `indices` is added.

    Raises:
        OperatorError: the axis or the number of batch axes is out of range.
    """
    rank, places = len(params["shape"]), len(indices["shape"])
    batch = _batch_axis_count(batch_dims, places, rank)
    along = batch if axis is None else axis + rank if axis < 0 else axis
    if not batch <= along < rank:
        raise fault(
            "E90001",
            f"gather: axis {axis} is outside of params {tuple(params['shape'])} "
            f"behind {batch} batch axes",
            detailed_cause=f"axis must be in range [{batch}, {rank - 1}], but is {axis}",
        )
    any_unknown = _has_unknown_size(params) or _has_unknown_size(indices)
    shared = tuple(range(batch))
    groups = (shared, tuple(range(batch, along)), (along,), tuple(range(along + 1, rank)))
    return [
        _merge_axes(params, groups, any_unknown=any_unknown),
        _merge_axes(indices, (shared, tuple(range(batch, places))), any_unknown=any_unknown),
        2,
        1,
    ]


def gather_nd_variant(
    params: Mapping[str, Any], indices: Mapping[str, Any], batch_dims: int
) -> list[Any]:
    """Returns the variant [params, indices, batch_dims] of ``gather_nd``.

    In the variant, `params` have the shape (batch, *indexed, rest) and `indices` have the shape
    (batch, count, depth). `depth` is the number of indexed axes. There is 1 batch axis.

    Args:
        params, indices: the declared tensor descriptions; the last size of `indices` is known.
        batch_dims: number of leading axes that `params` and `indices` share. If `batch_dims` is
            negative, the rank of `indices` minus 1 is added.

    Raises:
        OperatorError: `batch_dims` is out of range, or the last size of `indices` is unknown or
            exceeds the number of axes of `params` after the batch axes.
    """
    rank, places = len(params["shape"]), len(indices["shape"])
    batch = _batch_axis_count(batch_dims, places - 1, rank)
    depth = indices["shape"][-1]
    if depth < 0 or batch + depth > rank:
        raise fault(
            "E90001",
            f"gather_nd: the last size of the indices has to be known and at most {rank - batch}, "
            f"but is {depth}",
            detailed_cause="indices",
        )
    any_unknown = _has_unknown_size(params) or _has_unknown_size(indices)
    shared = tuple(range(batch))
    indexed = tuple((axis,) for axis in range(batch, batch + depth))
    rest = tuple(range(batch + depth, rank))
    return [
        _merge_axes(params, (shared, *indexed, rest), any_unknown=any_unknown),
        _merge_axes(
            indices,
            (shared, tuple(range(batch, places - 1)), (places - 1,)),
            any_unknown=any_unknown,
            known=(places - 1,),
        ),
        1,
    ]


def _batch_axis_count(batch_dims: Any, places: int, rank: int) -> int:
    if not isinstance(batch_dims, int):
        raise fault(
            "E90001",
            f"batch_dims of a gather has to be known when its operator is built, "
            f"but is {batch_dims!r}",
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


def _has_unknown_size(item: Mapping[str, Any]) -> bool:
    return any(size < 0 for size in item["shape"])


def _merge_axes(
    item: Mapping[str, Any], groups: AxisGroups, *, any_unknown: bool, known: Sequence[int] = ()
) -> dict[str, Any]:
    """Returns a copy of a tensor description; each group of axes is merged into one axis.

    With `any_unknown`, a merged axis gets the size −1 (unknown) if an axis of its group is not
    listed in `known`.
    """
    sizes = list(item["shape"])

    def merged_size(group: tuple[int, ...]) -> int:
        if any_unknown and any(axis not in known for axis in group):
            return -1
        return prod(sizes[axis] for axis in group)

    shape = [merged_size(group) for group in groups]
    return {
        **item,
        "shape": shape,
        "range": [(1, None) if size < 0 else (size, size) for size in shape],
        "mode": "original" if any_unknown else "const",
        "const_shape": list(shape),
        "merged_axes": groups,
    }
