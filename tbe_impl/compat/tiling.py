"""Computes tile sizes for schedules that operators create themselves.

These are the functions of ``tbe.dsl.static_schedule.util``. A tile size only affects code for the
device. Results on the CPU do not depend on tile sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def gcd(first: int, second: int) -> int:
    """Returns the greatest common divisor of two numbers."""
    return math.gcd(int(first), int(second))


def _free_axes(shape: Sequence[int], barrier: Sequence[int]) -> list[int]:
    return [axis for axis in range(len(shape)) if axis not in set(barrier)]


def get_block_factor_radical(
    shape: Sequence[int], barrier: Sequence[int], cores: int
) -> tuple[list[int], int]:
    """Returns a pair: the axes to distribute over the cores, and the first axis' split factor.

    The axis is split into parts; the split factor is the size of a part. All axes after the first
    are split into parts of size 1.

    Args:
        shape: sizes of the axes.
        barrier: axes that must not be distributed.
        cores: number of cores.

    >>> get_block_factor_radical([4, 16, 8], [2], 32)
    ([0, 1], 2)
    """
    taken: list[int] = []
    steps = 1
    for axis in _free_axes(shape, barrier):
        taken.append(axis)
        steps *= int(shape[axis])
        if steps >= cores:
            break
    if not taken:
        return [0], int(shape[0])
    inner = math.prod(int(shape[axis]) for axis in taken[1:])
    share = max(1, cores // max(1, inner))
    return taken, max(1, -(-int(shape[taken[0]]) // share))


def get_block_factor_conservative(
    shape: Sequence[int], barrier: Sequence[int], cores: int
) -> tuple[list[int], list[int]]:
    """Returns a pair: the axes to distribute over the cores, and the split factor of each axis.

    Each axis is split into parts; the split factor is the size of a part.
    """
    taken: list[int] = []
    factors: list[int] = []
    left = cores
    for axis in _free_axes(shape, barrier):
        size = int(shape[axis])
        taken.append(axis)
        parts = min(left, size)
        factors.append(max(1, -(-size // parts)))
        left //= parts
        if left <= 1:
            break
    return (taken, factors) if taken else ([0], [int(shape[0])])


def get_ub_factor(shape: Sequence[int], barrier: Sequence[int], room: int) -> tuple[int, int]:
    """Returns a pair: the axis to split into tiles, and the size of a tile along this axis.

    A tile covers all later axes completely, and has at most `room` elements. The axes in `barrier`
    are not split, and are not counted for the number of elements of a tile.

    >>> get_ub_factor([4, 16, 8], [], 100)
    (1, 8)
    """
    left = max(1, int(room))
    free = _free_axes(shape, barrier)
    for axis in reversed(free):
        size = int(shape[axis])
        if size > left or axis == free[0]:
            fits = min(size, left)
            return axis, next(part for part in range(fits, 0, -1) if size % part == 0)
        left //= max(1, size)
    last = len(shape) - 1
    return last, int(shape[last])
