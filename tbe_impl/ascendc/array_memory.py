"""Allocates arrays as the chip's runtime allocates tensors: aligned, with padding behind them."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

PADDING_BYTES = 64


def allocate(size: int, *, shared: bool = False) -> np.ndarray:
    """Returns bytes that begin at a multiple of 512, in memory that a forked process shares or not.

    Behind them lies the padding that aclrtMalloc adds: up to a multiple of 32 bytes, and 32 more.
    """
    if shared:
        return np.frombuffer(mmap.mmap(-1, size + PADDING_BYTES), np.uint8)[:size]
    whole = np.empty(size + 512 + PADDING_BYTES, np.uint8)
    start = -whole.ctypes.data % 512
    return whole[start : start + size]


def allocate_copy(array: np.ndarray, *, shared: bool = False) -> np.ndarray:
    """Returns a copy of the array in such memory."""
    found = allocate(array.nbytes, shared=shared).view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def allocate_output(
    shape: Sequence[int], dtype: np.dtype[Any], *, shared: bool = False
) -> np.ndarray:
    """Returns an output array whose bytes are no plausible result."""
    size = prod(shape) * dtype.itemsize
    found = allocate(size, shared=shared)
    found[...] = 0xA5
    return found.view(dtype).reshape(shape)
