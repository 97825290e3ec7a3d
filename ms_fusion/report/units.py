"""Formats bytes, microseconds, counts and ratios for readers.

>>> bytes_text(3 * 1024 * 1024), time_text(1530.0), count_text(12345), ulp_text(0.5)
('3.00 MiB', '1.53 ms', '12,345', '0.5')
>>> bytes_text(None), time_text(None), percent_text(1, 0)
('–', '–', '–')
"""

from __future__ import annotations

import math

ABSENT_TEXT = "–"
"""Text shown for an unknown value."""


def _three_digits(value: float) -> str:
    """Returns the text of a value with three significant digits.

    All digits of the integer part are written, even if there are more than three.

    Values from 10⁶ on are written with an exponent.
    """
    if value < 0:
        return f"−{_three_digits(-value)}"
    size = value
    if size >= 1e6:
        return f"{value:.2e}"
    return f"{value:.2f}" if size < 9.995 else f"{value:.1f}" if size < 99.95 else f"{value:,.0f}"


def _scale_to_unit(value: float, units: tuple[str, ...], step: float) -> str:
    if not math.isfinite(value):
        return f"{value} {units[0]}"
    place = 0
    # From 999.5 on, use the next unit, which gives a shorter text: 0.98 MiB, not 1,008 KiB.
    while abs(value) >= 999.5 and place < len(units) - 1:
        value, place = value / step, place + 1
    return f"{_three_digits(value)} {units[place]}"


def bytes_text(value: int | None) -> str:
    """Returns the text of a number of bytes, with a binary unit: 3.00 MiB, or 12 B below 1 KiB."""
    if value is None:
        return ABSENT_TEXT
    if abs(value) < 1024:
        return f"{value} B".replace("-", "−")
    return _scale_to_unit(float(value), ("B", "KiB", "MiB", "GiB", "TiB", "PiB"), 1024.0)


def decimal_bytes_text(value: int) -> str:
    """Returns the text of a number of bytes, with a decimal unit: 1.88 GB."""
    return (
        f"{value} B"
        if abs(value) < 1000
        else _scale_to_unit(float(value), ("B", "kB", "MB", "GB", "TB", "PB"), 1000.0)
    )


def time_text(value_us: float | None) -> str:
    """Returns the text of a time, in µs, ms or s."""
    return (
        ABSENT_TEXT
        if value_us is None
        else _scale_to_unit(float(value_us), ("µs", "ms", "s"), 1000.0)
    )


def flops_text(value: float | None) -> str:
    """Returns the text of a count of floating-point operations, in FLOP to TFLOP."""
    return (
        ABSENT_TEXT
        if value is None
        else _scale_to_unit(float(value), ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"), 1000.0)
    )


def count_text(value: int | None) -> str:
    """Returns the text of an integer, with thousands separators."""
    return ABSENT_TEXT if value is None else f"{value:,}"


def ulp_text(value: float | None) -> str:
    """Returns the text of a distance in units in the last place (ULP), at most four digits."""
    if value is None:
        return ABSENT_TEXT
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def percent_text(after: float | None, before: float | None) -> str:
    """Returns the signed change from `before` to `after` in percent; a saving is negative."""
    if after is None or not before or not (math.isfinite(after) and math.isfinite(before)):
        return ABSENT_TEXT
    change = round(100 * (after - before) / before, 1)
    return "±0 %" if change == 0 else f"{'+' if change > 0 else '−'}{abs(change):g} %"


def share_text(value: float) -> str:
    """Returns the text of a fraction between 0 and 1, in percent."""
    return f"{100 * value:.3g} %"
