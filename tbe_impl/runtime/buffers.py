"""Allocates arrays; reads how many threads a program may use."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

ALIGNMENT = 64
MAX_THREADS = 256
"""There is room for the sums of so many in a program."""


class _Process:
    """Whether this process is a forked child: one of several, as a rule, which compute at the same time."""

    is_forked = False


def _mark_child() -> None:
    _Process.is_forked = True


os.register_at_fork(after_in_child=_mark_child)


def aligned_empty(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """A new array that starts at a cache line."""
    count = math.prod(shape)
    raw = np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype).reshape(shape)


def usable_threads(threads: int) -> int:
    """What a program is told: one thread in a forked child, never more than there is room for."""
    return 0 if _Process.is_forked else min(threads, MAX_THREADS)
