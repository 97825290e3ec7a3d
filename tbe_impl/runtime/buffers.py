"""Allocates aligned arrays, and determines the number of threads of a kernel."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

ALIGNMENT = 64
MAX_THREADS = 256
"""Maximum number of threads of a kernel, which limits the memory for partial sums per thread."""


class _Process:
    """Records whether this process is a forked child.

    A forked child runs kernels on one thread, because a parent usually forks several children that
    run at the same time.
    """

    is_forked = False


def _mark_child() -> None:
    _Process.is_forked = True


os.register_at_fork(after_in_child=_mark_child)


def aligned_empty(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """Returns a new uninitialised array with its data aligned to a cache line."""
    count = math.prod(shape)
    raw = np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype).reshape(shape)


def usable_threads(threads: int) -> int:
    """Returns `threads`, limited to `MAX_THREADS`.

    In a forked child, returns 0, which means one thread.
    """
    return 0 if _Process.is_forked else min(threads, MAX_THREADS)
