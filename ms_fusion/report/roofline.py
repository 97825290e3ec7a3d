"""The roofline of the fused kernels: arithmetic intensity against speed, on logarithmic axes.

The roofs are those that the model used: they follow from the stages (bytes ÷ µs of reading and writing, FLOP ÷ µs of
computing). A speed is measured where the kernel was timed, else modelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from ms_fusion.ledger import Ledger
from ms_fusion.report.printable import printable
from ms_fusion.report.text import operators_text

LEFT, TOP, WIDTH, HEIGHT = 56.0, 14.0, 500.0, 290.0


@dataclass(frozen=True)
class Dot:
    """One kernel: its number, its place, whether its time was measured, its title."""

    kernel: int
    x: float
    y: float
    measured: bool
    title: str


@dataclass(frozen=True)
class Roofline:
    """Everything that the drawing needs, in its own units; ticks are (place, label)."""

    dots: tuple[Dot, ...]
    ticks_x: tuple[tuple[float, str], ...]
    ticks_y: tuple[tuple[float, str], ...]
    roof: tuple[tuple[float, float], ...]
    ridge: str
    bandwidth: str
    peak: str
    left: float = LEFT
    top: float = TOP
    right: float = LEFT + WIDTH
    bottom: float = TOP + HEIGHT


def roofline(ledger: Ledger) -> Roofline | None:
    """The plot, or None when no kernel has both work and a time or stages."""
    points = []
    for number, kernel in enumerate(ledger.kernels):
        time_us = kernel.time_us or (kernel.stages.total_us if kernel.stages else None)
        if (
            time_us
            and math.isfinite(time_us)
            and time_us > 0
            and kernel.work.flops > 0
            and kernel.work.bytes > 0
        ):
            speed = kernel.work.flops / time_us / 1e3
            points.append(
                (number, kernel.work.arithmetic_intensity, speed, kernel.time_us is not None)
            )
    if not points:
        return None
    bandwidth, peak = _roofs(ledger)
    lines = [peak] if peak else []
    ridge = peak / bandwidth if peak and bandwidth else None
    low_x, high_x = _range(
        [intensity for _, intensity, _, _ in points] + ([ridge] if ridge else [])
    )
    low_y, high_y = _range([speed for _, _, speed, _ in points] + lines)

    def at_x(intensity: float) -> float:
        return round(LEFT + WIDTH * (math.log10(intensity) - low_x) / (high_x - low_x), 1)

    def at_y(speed: float) -> float:
        return round(TOP + HEIGHT * (1 - (math.log10(speed) - low_y) / (high_y - low_y)), 1)

    roof: list[tuple[float, float]] = []
    if bandwidth and peak and ridge:
        start = max(10**low_x, 10**low_y / bandwidth)
        roof = [
            (at_x(start), at_y(start * bandwidth)),
            (at_x(ridge), at_y(peak)),
            (LEFT + WIDTH, at_y(peak)),
        ]
    return Roofline(
        tuple(
            Dot(
                number,
                at_x(intensity),
                at_y(speed),
                measured,
                printable(
                    f"{operators_text(ledger.kernels[number].operators)}: {intensity:.3g} FLOP/B, {speed:.3g} GFLOP/s"
                    + ("" if measured else " (modelled)"),
                    limit=300,
                ),
            )
            for number, intensity, speed, measured in points
        ),
        tuple((at_x(10.0**power), _power(power)) for power in range(low_x, high_x + 1)),
        tuple((at_y(10.0**power), _power(power)) for power in range(low_y, high_y + 1)),
        tuple(roof),
        f"{ridge:.3g} FLOP/B" if ridge else "",
        f"{bandwidth:.3g} GB/s" if bandwidth else "",
        f"{peak:,.3g} GFLOP/s" if peak else "",
    )


def _roofs(ledger: Ledger) -> tuple[float | None, float | None]:
    """GB/s and GFLOP/s that the model used."""
    bandwidths, peaks = [], []
    for kernel in ledger.kernels:
        if kernel.stages is None:
            continue
        moving = kernel.stages.read_us + kernel.stages.write_us
        if moving > 0 and kernel.work.bytes > 0:
            bandwidths.append(kernel.work.bytes / moving / 1e3)
        if kernel.stages.compute_us > 0 and kernel.work.flops > 0:
            peaks.append(kernel.work.flops / kernel.stages.compute_us / 1e3)
    return _middle(bandwidths), _middle(peaks)


def _middle(values: Iterable[float]) -> float | None:
    good = [value for value in values if math.isfinite(value) and value > 0]
    return median(good) if good else None


def _range(values: list[float]) -> tuple[int, int]:
    """Whole powers of ten around the values, at most 12 of them."""
    low = math.floor(min(map(math.log10, values)) - 0.05)
    high = math.ceil(max(map(math.log10, values)) + 0.05)
    return max(low, high - 12), max(high, low + 1)


def _power(power: int) -> str:
    if -3 <= power <= 4:
        return f"{10.0**power:g}" if power < 0 else f"{10**power:,}"
    return f"1e{power}"
