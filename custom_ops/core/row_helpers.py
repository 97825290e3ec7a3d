"""Implements helper functions on DSL tensors for row operators, such as sums and means.

Sums are accumulated in float64 for float64 inputs, and in float32 for all other inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tbe_impl import dsl
from tbe_impl.dsl.expr import Const, Expr, cast, const
from tbe_impl.errors import InputError


def sizes(tensor: Any) -> list[Any]:
    """Returns the sizes of a tensor: integers for static sizes, variables for dynamic sizes."""
    return [int(size.value) if isinstance(size, Const) else size for size in tensor.shape]


def widen(tensor: Any, like: Any = None) -> Any:
    """Casts `tensor` to the accumulation dtype of `like`, or of `tensor` if `like` is not given."""
    dtype = (tensor if like is None else like).dtype
    return dsl.cast_to(tensor, "float64" if dtype == "float64" else "float32")


def broadcast_like(tensor: Any, other: Any) -> Any:
    """Broadcasts the tensor to the shape of `other`."""
    return dsl.broadcast(tensor, sizes(other))


def total(tensor: Any, axes: Sequence[int], *, keep: bool = True) -> Any:
    """Sums `tensor` over `axes`; returns `tensor` unchanged if `axes` is empty."""
    return dsl.reduce_sum(tensor, list(axes), keepdims=keep) if axes else tensor


def divide_by_sizes(number: Any, *sizes_given: Any, dtype: str) -> Any:
    """Divides `number` by the product of sizes, which may be static or dynamic.

    If all sizes are static, the result is a Python number. Otherwise the result is an expression.
    """
    known, later = number, None
    for size in sizes_given:
        if isinstance(size, Expr):
            later = size if later is None else later * size
        else:
            known /= max(size, 1)
    return known if later is None else const(known, dtype) / cast(dtype, later)


def reciprocal_count(tensor: Any, axes: Sequence[int]) -> Any:
    """Returns 1 / (number of elements along `axes`)."""
    own = sizes(tensor)
    return divide_by_sizes(1, *(own[axis] for axis in axes), dtype=tensor.dtype)


def mean(tensor: Any, axes: Sequence[int]) -> Any:
    """Returns the mean over `axes`; the result keeps these axes with size 1."""
    return dsl.vmuls(total(tensor, axes), reciprocal_count(tensor, axes))


def resolve_axis(tensor: Any, axis: int, place: str, *, argument: str = "axis") -> int:
    """Returns `axis` as a non-negative index.

    Raises:
        InputError: the axis is out of range.
    """
    rank = len(tensor.shape)
    if not -rank <= axis < rank:
        raise InputError(
            f"{place}: {argument} is out of range",
            place=place,
            expected=f"{-rank} to {rank - 1} for shape {sizes(tensor)}",
            got=str(axis),
        )
    return axis % rank


def check_shape(
    tensor: Any, shape: Sequence[int], place: str, argument: str, like: Any = None
) -> None:
    """Checks the shape of a tensor and, if `like` is given, that its dtype is that of `like`.

    Raises:
        InputError: the shape or the dtype differs; the message names `argument`.
    """
    if sizes(tensor) != list(shape):
        raise InputError(
            f"{place}: {argument} has a wrong shape",
            place=place,
            expected=str(tuple(shape)),
            got=str(tuple(sizes(tensor))),
        )
    if like is not None and tensor.dtype != like.dtype:
        raise InputError(
            f"{place}: the dtypes of {argument} and {like.name} differ",
            place=place,
            expected=like.dtype,
            got=tensor.dtype,
        )
