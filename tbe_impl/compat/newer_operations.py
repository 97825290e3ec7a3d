"""Implements the newer ``tbe.dsl`` operations: sort, topk, segment reductions, slice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tbe_impl.compat.operator_errors import fault
from tbe_impl.dsl import ext
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.dsl.operations.segments import OPERATIONS as SEGMENTS
from tbe_impl.dsl.tensor import Tensor

_SEGMENTS = {word.name.removeprefix("unsorted_segment_"): word for word in SEGMENTS}


def sort(
    x: Tensor,
    sort_axis: int = -1,
    direction: str = "ascend",
    return_type: str = "value",
    indices_dtype: str = "int32",
    need_cast: bool = False,
) -> Any:
    """Sorts the elements along an axis.

    Args:
        x: a tensor of any dtype.
        sort_axis: the axis along which elements are sorted.
        direction: ``ascend`` or ``descend``.
        return_type: ``value``, ``indices`` (positions before sorting) or ``both``.
        indices_dtype: dtype of the indices.
        need_cast: whether the values are cast to bfloat16.
    """
    found = ext.sort(x, sort_axis, _is_descending(direction))
    return _select_results(found, return_type, indices_dtype, need_cast)


def topk(
    x: Tensor,
    k: Any,
    sort_axis: int = -1,
    direction: str = "descend",
    return_type: str = "value",
    indices_dtype: str = "int32",
    need_cast: bool = False,
) -> Any:
    """Sorts as `sort` does, and returns only the first k elements along the axis."""
    found = ext.topk(x, k, sort_axis, _is_descending(direction))
    return _select_results(found, return_type, indices_dtype, need_cast)


def _is_descending(direction: str) -> bool:
    if direction not in ("ascend", "descend"):
        raise fault(
            "E90001",
            f"a direction is ascend or descend, but not {direction!r}",
            detailed_cause="direction",
        )
    return direction == "descend"


def _select_results(
    found: tuple[Tensor, Tensor], kind: str, indices_dtype: str, need_cast: bool
) -> Any:
    if kind not in ("value", "indices", "both"):
        raise fault(
            "E90001",
            f"value, indices or both come back, but not {kind!r}",
            detailed_cause="return_type",
        )
    values, places = found
    both = cast_to(values, "bfloat16") if need_cast else values, cast_to(places, indices_dtype)
    return both if kind == "both" else both[kind == "indices"]


def segment(
    tensor: Tensor,
    segment_ids: Any,
    num_segments: Any,
    init_value: Any = 0,
    op: str = "segmentensor_sum",
    check_ids: bool = False,
) -> Any:
    """Applies ``unsorted_segment_sum`` or another segment reduction, selected by `op`.

    Args:
        tensor, segment_ids, num_segments, init_value: the arguments of the segment reduction.
        op: ``segmentensor_`` followed by sum, mean, prod, max or min.
        check_ids: unused; segment ids that are out of range are always ignored.
    """
    word = _SEGMENTS.get(op.removeprefix("segmentensor_"))
    if word is None:
        raise fault(
            "E90001",
            f"there are segments of {', '.join(_SEGMENTS)}, but not {op!r}",
            detailed_cause="op",
        )
    return word(tensor, segment_ids, num_segments, init_value)


def slice_tensor(tensor: Tensor, begin: Any, end: Any, stride: Any = None) -> Any:
    """Returns ``tensor[begin:end]`` on every axis (``tbe.dsl.slice``).

    Args:
        tensor: a tensor of any dtype.
        begin, end: one value per axis; `end` is exclusive.
        stride: None; the CANN toolkit accepts no other value.
    """
    if stride is not None:
        raise fault("E90001", f"slice takes no stride, but got {stride!r}", detailed_cause="stride")
    for name, numbers in (("begin", begin), ("end", end)):
        if not isinstance(numbers, (list, tuple)) or len(numbers) != tensor.ndim:
            raise fault(
                "E90001",
                f"{name} of slice has to be a list of {tensor.ndim} numbers, but is {numbers!r}",
                detailed_cause=name,
            )
    return ext.strided_slice(tensor, list(begin), list(end))


FUNCTIONS: Mapping[str, Any] = {
    "slice": slice_tensor,
    "sort": sort,
    "topk": topk,
    "segment": segment,
    "powi": ext.pow,
    "vtanh": ext.tanh,
    "vsigmoid": ext.sigmoid,
}
"""Maps a name in ``tbe.dsl`` to its function."""
