"""Solves for sizes that operators count in blocks: m, of a tensor with 16·m rows.

The device reads past the end of such an array and computes with zeros; here the array is filled up, and what that adds to
the results is cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tbe_impl.dsl.expr import Binary, Const, Expr, Var

Key = tuple[int, int]
"""``id`` of a variable, and how many elements one of it stands for."""


def blocked(size: Expr) -> tuple[Var, int] | None:
    """The variable and the factor of a size that is their product."""
    if isinstance(size, Binary) and size.op == "mul":
        for one, other in ((size.a, size.b), (size.b, size.a)):
            if isinstance(one, Var) and isinstance(other, Const) and int(other.value) > 1:
                return one, int(other.value)
    return None


def sizes_in_blocks(
    shapes: Sequence[tuple[Expr, ...]], arrays: Sequence[np.ndarray]
) -> dict[Key, int]:
    """Every size that is counted in blocks → how many elements it really has."""
    found: dict[Key, int] = {}
    for shape, array in zip(shapes, arrays, strict=True):
        if len(shape) != array.ndim:
            continue
        for size, number in zip(shape, array.shape, strict=True):
            parts = blocked(size)
            if parts is not None:
                found.setdefault((id(parts[0]), parts[1]), number)
    return found


def real_size(size: Expr, known: Mapping[Key, int]) -> int | None:
    """What a size really is, None when it is not counted in blocks."""
    parts = blocked(size)
    return None if parts is None else known.get((id(parts[0]), parts[1]))


def filled_up(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """An array with zeros behind the last element of each axis."""
    return np.pad(
        array, [(0, wanted - own) for wanted, own in zip(shape, array.shape, strict=True)]
    )


def cut(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The beginning of an array, of that shape; the array in that shape where it has as many elements, as it is where it has
    another number of axes."""
    if array.shape == shape or (array.ndim != len(shape) and array.size != prod(shape)):
        return array
    if array.size == prod(shape):
        return array.reshape(shape)
    return np.ascontiguousarray(array[tuple(slice(0, size) for size in shape)])
