"""Words that operators over rows share; sums are in float32, of float64 in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tbe_impl import dsl
from tbe_impl.dsl.expr import Const, Expr, cast, const
from tbe_impl.errors import InputError


def sizes(tensor: Any) -> list[Any]:
    """The shape: an integer where a size is known, its variable where it comes later."""
    return [int(size.value) if isinstance(size, Const) else size for size in tensor.shape]


def wide(tensor: Any, like: Any = None) -> Any:
    """The tensor in the dtype that sums are kept in: of its own, or of another's."""
    dtype = (tensor if like is None else like).dtype
    return dsl.cast_to(tensor, "float64" if dtype == "float64" else "float32")


def spread(tensor: Any, other: Any) -> Any:
    """The tensor repeated to the shape of another."""
    return dsl.broadcast(tensor, sizes(other))


def total(tensor: Any, axes: Sequence[int], *, keep: bool = True) -> Any:
    """The sum over axes; over none it is the tensor."""
    return dsl.reduce_sum(tensor, list(axes), keepdims=keep) if axes else tensor


def per(number: Any, *sizes_given: Any, dtype: str) -> Any:
    """A number over a product of sizes, of which one may come later; over none of anything it is the number."""
    known, later = number, None
    for size in sizes_given:
        if isinstance(size, Expr):
            later = size if later is None else later * size
        else:
            known /= max(size, 1)
    return known if later is None else const(known, dtype) / cast(dtype, later)


def share_of(tensor: Any, axes: Sequence[int]) -> Any:
    """1 over how many elements there are over axes."""
    own = sizes(tensor)
    return per(1, *(own[axis] for axis in axes), dtype=tensor.dtype)


def mean(tensor: Any, axes: Sequence[int]) -> Any:
    """The mean over axes, which stay with size 1."""
    return dsl.vmuls(total(tensor, axes), share_of(tensor, axes))


def axis_of(tensor: Any, axis: int, place: str, *, argument: str = "axis") -> int:
    """An axis counted from the front.

    Raises:
        InputError: the tensor lacks it.
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
    """Raises `InputError`, which names the argument, for a tensor of another shape, or of another dtype than `like` has."""
    if sizes(tensor) != list(shape):
        raise InputError(
            f"{place}: {argument} has another shape",
            place=place,
            expected=str(tuple(shape)),
            got=str(tuple(sizes(tensor))),
        )
    if like is not None and tensor.dtype != like.dtype:
        raise InputError(
            f"{place}: {argument} has another dtype than {like.name}",
            place=place,
            expected=like.dtype,
            got=tensor.dtype,
        )
