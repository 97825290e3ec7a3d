"""Computes the median of times, and the spread of the times around the median."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def median_and_spread(times: Sequence[float]) -> tuple[float, float]:
    """Returns (median, half the interquartile range).

    About half of the times differ from the median by no more than half the interquartile range.

    >>> median_and_spread([4.0, 1.0, 2.0, 3.0, 100.0])
    (3.0, 1.0)
    >>> median_and_spread([5.0])
    (5.0, 0.0)
    """
    if len(times) < 2:
        return statistics.median(times), 0.0
    first, middle, last = statistics.quantiles(times, n=4, method="inclusive")
    return middle, (last - first) / 2
