"""Allocates arrays as the chip's runtime allocates tensors: aligned, and followed by padding."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

PADDING_BYTES = 64


def allocate(size: int, *, shared: bool = False) -> np.ndarray:
    """Returns an array of `size` bytes that starts at an address divisible by 512.

    Unused memory follows the array, as with aclrtMalloc: the size is rounded up to a multiple of 32
    bytes, and at least 32 further bytes are added. If `shared` is true, a forked process shares the
    array.
    """
    if shared:
        return np.frombuffer(mmap.mmap(-1, size + PADDING_BYTES), np.uint8)[:size]
    whole = np.empty(size + 512 + PADDING_BYTES, np.uint8)
    start = -whole.ctypes.data % 512
    return whole[start : start + size]


def allocate_copy(array: np.ndarray, *, shared: bool = False) -> np.ndarray:
    """Copies an array to memory from `allocate`, and returns the copy."""
    found = allocate(array.nbytes, shared=shared).view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def allocate_output(
    shape: Sequence[int], dtype: np.dtype[Any], *, shared: bool = False
) -> np.ndarray:
    """Returns an output array that is filled with bytes that a kernel is unlikely to compute."""
    size = prod(shape) * dtype.itemsize
    found = allocate(size, shared=shared)
    found[...] = 0xA5
    return found.view(dtype).reshape(shape)
