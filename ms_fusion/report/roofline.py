"""Draws the roofline plot of the fused kernels, with logarithmic axes.

The plot shows speed over arithmetic intensity. The plot has one roof for matrix products and
another roof for all other arithmetic. A roof consists of the bandwidth and a peak rate. Both
numbers are read from the environment in the ledger (the fusion record). A number that the
environment lacks is computed from the times that the cost model predicts for the kernels. The
bandwidth is then the median of bytes ÷ (time of reading and writing). The peak rate is then the
median of FLOP ÷ (time of computing). If a kernel was measured above its roof, the roof is raised to
the speed of this kernel. A kernel that was not timed is plotted at the speed that the cost model
predicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from ms_fusion.cost import is_matrix_product
from ms_fusion.ledger import FusedKernel, Ledger
from ms_fusion.report.printable import printable_text
from ms_fusion.report.wording import operators_text

LEFT, TOP, WIDTH, HEIGHT = 56.0, 14.0, 500.0, 290.0
KINDS = {True: "matrix products", False: "other arithmetic"}


@dataclass(frozen=True)
class RooflineDot:
    """The dot of one kernel: index of the kernel, position, whether the kernel was timed, title."""

    kernel: int
    x: float
    y: float
    measured: bool
    title: str


@dataclass(frozen=True)
class Roof:
    """The roof of one kind of arithmetic.

    Attributes:
        name: label of the roof in the plot.
        peak: peak rate, as text.
        ridge: arithmetic intensity of the ridge point, as text.
        raised: whether the roof was raised, since the measured speed of a kernel was above the
            roof.
        line: points of the polyline.
    """

    name: str
    peak: str
    ridge: str
    raised: bool
    line: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Roofline:
    """The marks and axis ticks of the roofline plot, in the coordinates of the SVG drawing.

    An axis tick is a pair (position, label).
    """

    dots: tuple[RooflineDot, ...]
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
    """A kernel in the plot.

    Attributes:
        kernel: index of the kernel.
        intensity: arithmetic intensity, FLOP/B.
        speed: speed, GFLOP/s.
        measured: whether the kernel was timed.
        matrix: whether the kernel computes a matrix product.
    """

    kernel: int
    intensity: float
    speed: float
    measured: bool
    matrix: bool


def roofline(ledger: Ledger) -> Roofline | None:
    """Returns the data of the plot, or None if the plot would contain no kernel.

    The plot contains the kernels whose amount of work is known and whose time was measured or
    modelled.
    """
    points = [*_points(ledger)]
    if not points:
        return None
    bandwidth = _roof_from_ledger(ledger, "bandwidth_gb_per_s") or _bandwidth(ledger)
    kinds = sorted({point.matrix for point in points}, reverse=True)
    modelled = {matrix: _peak(ledger, matrix) for matrix in kinds}
    peaks = {
        matrix: max([peak, *(one.speed for one in points if one.measured and one.matrix == matrix)])
        for matrix, peak in modelled.items()
        if peak
    }
    ridges = {matrix: peak / bandwidth for matrix, peak in peaks.items()} if bandwidth else {}
    low_x, high_x = _decade_range([point.intensity for point in points] + [*ridges.values()])
    low_y, high_y = _decade_range([point.speed for point in points] + [*peaks.values()])

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
            RooflineDot(
                point.kernel,
                at_x(point.intensity),
                at_y(point.speed),
                point.measured,
                printable_text(
                    f"{operators_text(ledger.kernels[point.kernel].operators)}: "
                    f"{point.intensity:.3g} FLOP/B, "
                    f"{point.speed:.3g} GFLOP/s" + ("" if point.measured else " (modelled)"),
                    limit=300,
                ),
            )
            for point in points
        ),
        tuple((at_x(10.0**power), _power_text(power)) for power in range(low_x, high_x + 1)),
        tuple((at_y(10.0**power), _power_text(power)) for power in range(low_y, high_y + 1)),
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
                    number, work.arithmetic_intensity, speed, measured, _has_matrix_product(kernel)
                )


def _has_matrix_product(kernel: FusedKernel) -> bool:
    return any(map(is_matrix_product, kernel.body))


def _roof_from_ledger(ledger: Ledger, name: str) -> float | None:
    """Returns the number with the key `name` in the ledger's environment.

    Returns None if the number is missing, not finite or not positive.
    """
    value = ledger.environment.get(name)
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return None
    return float(value)


def _bandwidth(ledger: Ledger) -> float | None:
    """Returns the median of the bandwidths that the cost model predicts for the kernels, GB/s.

    Returns None if the cost model predicts no bandwidth.
    """
    return _median_of_valid(
        kernel.work.bytes / (kernel.stages.read_us + kernel.stages.write_us) / 1e3
        for kernel in ledger.kernels
        if kernel.stages and kernel.stages.read_us + kernel.stages.write_us > 0
    )


def _peak(ledger: Ledger, matrix: bool) -> float | None:
    """Returns a peak rate in GFLOP/s, or None if the rate is unknown.

    The result is the rate of matrix products if `matrix` is True, else the rate of all other
    arithmetic.
    """
    return _roof_from_ledger(
        ledger, f"{'matrix' if matrix else 'vector'}_gflop_per_s"
    ) or _median_of_valid(
        kernel.work.flops / kernel.stages.compute_us / 1e3
        for kernel in ledger.kernels
        if kernel.stages and kernel.stages.compute_us > 0 and _has_matrix_product(kernel) == matrix
    )


def _median_of_valid(values: Iterable[float]) -> float | None:
    good = [value for value in values if math.isfinite(value) and value > 0]
    return median(good) if good else None


def _decade_range(values: Sequence[float]) -> tuple[int, int]:
    """Returns the exponents of the powers of ten that enclose the values.

    If the values span more than 12 decades, the exponents enclose only the highest 12 decades.
    """
    low = math.floor(min(map(math.log10, values)) - 0.05)
    high = math.ceil(max(map(math.log10, values)) + 0.05)
    return max(low, high - 12), max(high, low + 1)


def _power_text(power: int) -> str:
    if -3 <= power <= 4:
        return f"{10.0**power:g}" if power < 0 else f"{10**power:,}"
    return f"1e{power}"
