"""Words that operators over rows share; sums are in float32, of float64 in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tbe_impl import dsl
from tbe_impl.errors import InputError


def sizes(tensor: Any) -> list[int]:
    """The shape as integers."""
    return [int(size.value) for size in tensor.shape]


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


def count(tensor: Any, axes: Sequence[int]) -> int:
    """How many elements there are over axes, at least 1."""
    number = 1
    for axis in axes:
        number *= sizes(tensor)[axis]
    return max(number, 1)


def mean(tensor: Any, axes: Sequence[int]) -> Any:
    """The mean over axes, which stay with size 1."""
    return dsl.vmuls(total(tensor, axes), 1 / count(tensor, axes))


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
