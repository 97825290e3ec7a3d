"""The roofline of the fused kernels: arithmetic intensity against speed, on logarithmic axes.

Matrix products and all other arithmetic have a roof each. They are those of the device where the ledger names them, else they
follow from the stages (bytes ÷ µs of reading and writing, FLOP ÷ µs of computing); a kernel that was measured to be quicker raises
its roof. A speed is measured where the kernel was timed, else modelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from ms_fusion.cost import is_matrix_product
from ms_fusion.ledger import FusedKernel, Ledger
from ms_fusion.report.printable import printable
from ms_fusion.report.wording import operators_text

LEFT, TOP, WIDTH, HEIGHT = 56.0, 14.0, 500.0, 290.0
KINDS = {True: "matrix products", False: "other arithmetic"}


@dataclass(frozen=True)
class Dot:
    """One kernel: its number, its place, whether its time was measured, its title."""

    kernel: int
    x: float
    y: float
    measured: bool
    title: str


@dataclass(frozen=True)
class Roof:
    """One unit: what it computes, its peak, where it meets the bandwidth, whether a kernel raised it, its line."""

    name: str
    peak: str
    ridge: str
    raised: bool
    line: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Roofline:
    """Everything that the drawing needs, in its own units; ticks are (place, label)."""

    dots: tuple[Dot, ...]
    ticks_x: tuple[tuple[float, str], ...]
    ticks_y: tuple[tuple[float, str], ...]
    roofs: tuple[Roof, ...]
    bandwidth: str
    left: float = LEFT
    top: float = TOP
    right: float = LEFT + WIDTH
    bottom: float = TOP + HEIGHT


@dataclass(frozen=True)
class _Point:
    """A kernel: FLOP/B, GFLOP/s, whether that was measured, and whether it multiplies matrices."""

    kernel: int
    intensity: float
    speed: float
    measured: bool
    matrix: bool


def roofline(ledger: Ledger) -> Roofline | None:
    """The plot, or None when no kernel has both work and a time or stages."""
    points = [*_points(ledger)]
    if not points:
        return None
    bandwidth = _known(ledger, "bandwidth_gb_per_s") or _bandwidth(ledger)
    kinds = sorted({point.matrix for point in points}, reverse=True)
    modelled = {matrix: _peak(ledger, matrix) for matrix in kinds}
    peaks = {
        matrix: max([peak, *(one.speed for one in points if one.measured and one.matrix == matrix)])
        for matrix, peak in modelled.items()
        if peak
    }
    ridges = {matrix: peak / bandwidth for matrix, peak in peaks.items()} if bandwidth else {}
    low_x, high_x = _range([point.intensity for point in points] + [*ridges.values()])
    low_y, high_y = _range([point.speed for point in points] + [*peaks.values()])

    def at_x(intensity: float) -> float:
        return round(LEFT + WIDTH * (math.log10(intensity) - low_x) / (high_x - low_x), 1)

    def at_y(speed: float) -> float:
        return round(TOP + HEIGHT * (1 - (math.log10(speed) - low_y) / (high_y - low_y)), 1)

    def roof(matrix: bool, ridge: float, slope: float) -> Roof:
        peak = peaks[matrix]
        start = max(10**low_x, 10**low_y / slope)
        line = (
            (at_x(start), at_y(start * slope)),
            (at_x(ridge), at_y(peak)),
            (LEFT + WIDTH, at_y(peak)),
        )
        raised = peak > (modelled[matrix] or peak)
        return Roof(KINDS[matrix], f"{peak:,.3g} GFLOP/s", f"{ridge:.3g} FLOP/B", raised, line)

    return Roofline(
        tuple(
            Dot(
                point.kernel,
                at_x(point.intensity),
                at_y(point.speed),
                point.measured,
                printable(
                    f"{operators_text(ledger.kernels[point.kernel].operators)}: {point.intensity:.3g} FLOP/B, "
                    f"{point.speed:.3g} GFLOP/s" + ("" if point.measured else " (modelled)"),
                    limit=300,
                ),
            )
            for point in points
        ),
        tuple((at_x(10.0**power), _power(power)) for power in range(low_x, high_x + 1)),
        tuple((at_y(10.0**power), _power(power)) for power in range(low_y, high_y + 1)),
        tuple(roof(matrix, ridge, bandwidth or 1.0) for matrix, ridge in ridges.items()),
        f"{bandwidth:.3g} GB/s" if bandwidth else "",
    )


def _points(ledger: Ledger) -> Iterable[_Point]:
    for number, kernel in enumerate(ledger.kernels):
        time_us = kernel.time_us or (kernel.stages.total_us if kernel.stages else None)
        work = kernel.work
        if time_us and math.isfinite(time_us) and time_us > 0 < min(work.flops, work.bytes):
            speed = work.flops / time_us / 1e3
            if math.isfinite(speed):
                measured = kernel.time_us is not None
                yield _Point(
                    number, work.arithmetic_intensity, speed, measured, _multiplies(kernel)
                )


def _multiplies(kernel: FusedKernel) -> bool:
    return any(map(is_matrix_product, kernel.body))


def _known(ledger: Ledger, name: str) -> float | None:
    """A roof that the ledger names, where it is a number above 0."""
    value = ledger.environment.get(name)
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return None
    return float(value)


def _bandwidth(ledger: Ledger) -> float | None:
    """GB/s that the model used."""
    return _middle(
        kernel.work.bytes / (kernel.stages.read_us + kernel.stages.write_us) / 1e3
        for kernel in ledger.kernels
        if kernel.stages and kernel.stages.read_us + kernel.stages.write_us > 0
    )


def _peak(ledger: Ledger, matrix: bool) -> float | None:
    """GFLOP/s of the unit that computes matrix products, or of that for everything else."""
    return _known(ledger, f"{'matrix' if matrix else 'vector'}_gflop_per_s") or _middle(
        kernel.work.flops / kernel.stages.compute_us / 1e3
        for kernel in ledger.kernels
        if kernel.stages and kernel.stages.compute_us > 0 and _multiplies(kernel) == matrix
    )


def _middle(values: Iterable[float]) -> float | None:
    good = [value for value in values if math.isfinite(value) and value > 0]
    return median(good) if good else None


def _range(values: Sequence[float]) -> tuple[int, int]:
    """Whole powers of ten around the values, at most 12 of them."""
    low = math.floor(min(map(math.log10, values)) - 0.05)
    high = math.ceil(max(map(math.log10, values)) + 0.05)
    return max(low, high - 12), max(high, low + 1)


def _power(power: int) -> str:
    if -3 <= power <= 4:
        return f"{10.0**power:g}" if power < 0 else f"{10**power:,}"
    return f"1e{power}"
