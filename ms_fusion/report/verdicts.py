"""Judges whether an error is a rounding error, and whether a saving of time exceeds the noise."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ms_fusion.graph import Value
from ms_fusion.ledger import Accuracy, FusedKernel, Ledger
from tbe_impl.comparing import TOLERANCE

UNFUSED_ERROR_FACTOR = 2.0
"""Largest ratio (fused error ÷ unfused error) with the verdict ``as unfused``."""


def is_good(verdict: str) -> bool:
    """Returns whether a verdict of `error_verdict` or `accuracy_verdict` reports no problem."""
    return verdict in ("", "exact", "as unfused", "rounding")


def tolerance_of(values: Iterable[Value]) -> float:
    """Returns the largest relative error that rounding in the dtypes of the values may cause.

    The result is the tolerance of the least precise floating dtype among the values. Returns 0 if
    no value has a floating dtype.
    """
    return max((TOLERANCE.get(value.dtype, 0.0) for value in values), default=0.0)


def error_verdict(relative: float, tolerance: float, unfused: float | None = None) -> str:
    """Returns a short verdict on the relative error of a fused computation.

    Args:
        relative: the relative error.
        tolerance: the largest relative error that rounding may cause.
        unfused: the relative error of the unfused computation, or None if it is unknown.

    >>> error_verdict(3e-7, 2e-5), error_verdict(1e-4, 2e-5, 9e-5), error_verdict(1e-4, 2e-5, 1e-6)
    ('rounding', 'as unfused', '100× worse')
    >>> error_verdict(0.0, 2e-5), error_verdict(math.inf, 2e-5), error_verdict(1e-4, 2e-5)
    ('exact', 'NaN differs', 'too large')
    """
    if relative == 0:
        return "exact"
    if unfused is not None and relative <= UNFUSED_ERROR_FACTOR * unfused:
        return "as unfused"
    if not math.isfinite(relative):
        return "NaN differs"
    if relative <= tolerance:
        return "rounding"
    return f"{relative / unfused:.3g}× worse" if unfused else "too large"


def accuracy_verdict(entry: Accuracy, kernel: FusedKernel) -> str:
    """Returns the verdict on a kernel's error, or an empty string if no relative error is known.

    A kernel that was not run has a NaN as its error in ULP. Its verdict is ``not run``.
    """
    if math.isnan(entry.fused_max_ulp):
        return "not run"
    if entry.fused_max_rel is None:
        return ""
    return error_verdict(entry.fused_max_rel, tolerance_of(kernel.outputs), entry.unfused_max_rel)


def output_verdict(ledger: Ledger) -> str:
    """Returns the verdict on the difference between the outputs with and without fusion.

    Returns an empty string if no relative difference is known.
    """
    if ledger.output_max_rel is None:
        return ""
    graph = ledger.before.graph
    outputs = (graph.values[name] for name in graph.outputs if name in graph.values)
    return error_verdict(ledger.output_max_rel, tolerance_of(outputs))


def is_clear_saving(kernel: FusedKernel) -> bool:
    """Returns whether the measured saving or loss of time exceeds the spread of the measurement.

    Returns True if the saving or the spread is unknown.
    """
    saving, spread = kernel.measured_saving_us, kernel.saving_spread_us
    return saving is None or spread is None or abs(saving) > spread


def has_clear_times(ledger: Ledger) -> bool:
    """Returns whether the call times without and with fusion differ by more than their spread.

    Their spread is the square root of the sum of the squares of both spreads. Returns True if a
    time or a spread is unknown.
    """
    before, after = ledger.before, ledger.after
    if None in (before.time_us, after.time_us, before.time_spread_us, after.time_spread_us):
        return True
    apart = abs((after.time_us or 0.0) - (before.time_us or 0.0))
    return apart > math.hypot(before.time_spread_us or 0.0, after.time_spread_us or 0.0)
