"""Solves for sizes that are multiples of a block, such as m in a tensor with 16·m rows.

The device reads past the end of such an array and computes with zeros. Here the array is padded
with zeros, and the results are cropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tbe_impl.dsl.expr import Binary, Const, Expr, Var

Key = tuple[int, int]
"""``id`` of a variable, and the elements per unit of the variable."""


def match_blocked_size(size: Expr) -> tuple[Var, int] | None:
    """Returns variable and factor of a size that is their product, else None."""
    if isinstance(size, Binary) and size.op == "mul":
        for one, other in ((size.a, size.b), (size.b, size.a)):
            if isinstance(one, Var) and isinstance(other, Const) and int(other.value) > 1:
                return one, int(other.value)
    return None


def sizes_in_blocks(
    shapes: Sequence[tuple[Expr, ...]], arrays: Sequence[np.ndarray]
) -> dict[Key, int]:
    """Returns every blocked size → its number of elements in the arrays."""
    found: dict[Key, int] = {}
    for shape, array in zip(shapes, arrays, strict=True):
        if len(shape) != array.ndim:
            continue
        for size, number in zip(shape, array.shape, strict=True):
            parts = match_blocked_size(size)
            if parts is not None:
                found.setdefault((id(parts[0]), parts[1]), number)
    return found


def real_size(size: Expr, known: Mapping[Key, int]) -> int | None:
    """Returns the number of elements of a blocked size; None when the size is not blocked."""
    parts = match_blocked_size(size)
    return None if parts is None else known.get((id(parts[0]), parts[1]))


def pad_with_zeros(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Pads an array with zeros at the end of each axis."""
    return np.pad(
        array, [(0, wanted - own) for wanted, own in zip(shape, array.shape, strict=True)]
    )


def crop(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Crops an array to `shape`, or reshapes it if it has as many elements.

    An array with another rank and another number of elements is returned unchanged.
    """
    if array.shape == shape or (array.ndim != len(shape) and array.size != prod(shape)):
        return array
    if array.size == prod(shape):
        return array.reshape(shape)
    return np.ascontiguousarray(array[tuple(slice(0, size) for size in shape)])
