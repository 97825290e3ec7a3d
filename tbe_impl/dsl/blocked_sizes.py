"""Handles sizes such as 16·m, where the last block of 16 elements may be incomplete.

The device reads past the end of such an array and computes with zeros there. On the CPU, the array
is padded with zeros to whole blocks. The results are then cropped to the actual size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tbe_impl.dsl.expr import Binary, Const, Expr, Var

Key = tuple[int, int]
"""A pair that identifies a size such as 16·m: the ``id`` of the variable m, and the factor 16."""


def match_blocked_size(size: Expr) -> tuple[Var, int] | None:
    """Returns the variable and the factor of a size such as 16·m: (m, 16).

    Returns None for a size of another form.
    """
    if isinstance(size, Binary) and size.op == "mul":
        for one, other in ((size.a, size.b), (size.b, size.a)):
            if isinstance(one, Var) and isinstance(other, Const) and int(other.value) > 1:
                return one, int(other.value)
    return None


def sizes_in_blocks(
    shapes: Sequence[tuple[Expr, ...]], arrays: Sequence[np.ndarray]
) -> dict[Key, int]:
    """Returns the actual size of each axis whose declared size has a form such as 16·m.

    `shapes` contains the declared shape of each item of `arrays`. The result is a dict; its keys
    identify the declared sizes.
    """
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
    """Returns the actual size of an axis whose declared size is `size`, such as 16·m.

    `known` is a result of `sizes_in_blocks`. The function returns None if `known` lacks the
    declared size.
    """
    parts = match_blocked_size(size)
    return None if parts is None else known.get((id(parts[0]), parts[1]))


def pad_with_zeros(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Pads an array to `shape` with zeros at the end of each axis."""
    return np.pad(
        array, [(0, wanted - own) for wanted, own in zip(shape, array.shape, strict=True)]
    )


def crop(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Crops an array to `shape`, or reshapes it if `shape` has the same number of elements.

    If both the rank and the number of elements differ from those of `shape`, the array is returned
    unchanged.
    """
    if array.shape == shape or (array.ndim != len(shape) and array.size != prod(shape)):
        return array
    if array.size == prod(shape):
        return array.reshape(shape)
    return np.ascontiguousarray(array[tuple(slice(0, size) for size in shape)])
