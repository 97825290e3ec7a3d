"""Plots the cost model's predicted savings of the fused kernels against the measured savings.

Each measured kernel is drawn as a dot. A prediction without a measurement is drawn as a mark in a
rug plot below the dots. Both axes are symmetric-logarithmic: about linear between −1 µs and 1 µs,
and logarithmic for larger magnitudes. Such axes also show losses, which are negative savings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ms_fusion.ledger import Ledger
from ms_fusion.report.printable import printable_text
from ms_fusion.report.units import time_text
from ms_fusion.report.wording import operators_text

LEFT, TOP, WIDTH, HEIGHT, RUG = 56.0, 14.0, 500.0, 290.0, 12.0


@dataclass(frozen=True)
class PredictionDot:
    """The dot of one fused kernel: index of the kernel, position in the drawing, title."""

    kernel: int
    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Predictions:
    """The marks and axis ticks of the plot, in the coordinates of the SVG drawing.

    Attributes:
        dots: one dot for each measured kernel.
        made: positions in the rug plot for the kernels that were built but not measured.
        not_made: positions in the rug plot for the fusions that were not built.
        counts: (number of kernels that were built but not measured, number of fusions that were not
            built). The counts may exceed the lengths of `made` and `not_made`, because several
            kernels or fusions may have the same position.
        right: number of dots whose prediction has the same sign as the measurement.
        near: number of dots whose prediction is within a factor of 2 of the measurement.
        ticks_x, ticks_y: (position, label) of each axis tick.
        line: end points (x, y, x, y) of the line on which prediction and measurement are equal.
            None if this line is not drawn.
    """

    dots: tuple[PredictionDot, ...]
    made: tuple[float, ...]
    not_made: tuple[float, ...]
    counts: tuple[int, int]
    right: int
    near: int
    ticks_x: tuple[tuple[float, str], ...]
    ticks_y: tuple[tuple[float, str], ...]
    line: tuple[float, float, float, float] | None
    left: float = LEFT
    top: float = TOP
    right_edge: float = LEFT + WIDTH
    bottom: float = TOP
    rug: float = RUG


def predictions(ledger: Ledger) -> Predictions | None:
    """Returns the content of the plot, or None if the ledger contains no prediction."""
    both: list[tuple[int, float, float]] = []
    made: list[float] = []
    for number, kernel in enumerate(ledger.kernels):
        predicted, measured = kernel.predicted_saving_us, kernel.measured_saving_us
        if predicted is None or not math.isfinite(predicted):
            continue
        if measured is None or not math.isfinite(measured):
            made.append(predicted)
        else:
            both.append((number, predicted, measured))
    estimated = (one.saving_us for one in ledger.rejected if one.saving_us is not None)
    not_made = [saving for saving in estimated if math.isfinite(saving)]
    if not (both or made or not_made):
        return None
    wide = _Axis([predicted for _, predicted, _ in both] + made + not_made, LEFT, WIDTH)
    high = _Axis([measured for _, _, measured in both], TOP + HEIGHT, -HEIGHT)
    bottom = TOP + HEIGHT if both else TOP
    dots = tuple(
        PredictionDot(
            number,
            wide.position(predicted),
            high.position(measured),
            _title(ledger, number, predicted, measured),
        )
        for number, predicted, measured in both
    )
    low, most = max(wide.low, high.low), min(wide.high, high.high)
    return Predictions(
        dots,
        _strokes(map(wide.position, made)),
        _strokes(map(wide.position, not_made)),
        (len(made), len(not_made)),
        sum((predicted > 0) == (measured > 0) for _, predicted, measured in both),
        sum(0.5 < predicted / measured < 2 for _, predicted, measured in both if measured),
        wide.ticks,
        high.ticks if both else (),
        (wide.position(low), high.position(low), wide.position(most), high.position(most))
        if both and low < most
        else None,
        bottom=bottom,
    )


def symmetric_log(value: float) -> float:
    """Returns sign(`value`) · log₁₀(1 + |`value`|).

    The function is about linear for |`value`| < 1, and logarithmic for larger |`value`|.

    >>> symmetric_log(9.0), symmetric_log(-99.0)
    (1.0, -2.0)
    """
    return math.copysign(math.log10(1 + abs(value)), value)


class _Axis:
    """Maps values to positions on an axis that includes 0."""

    def __init__(self, values: Iterable[float], start: float, length: float):
        found = [0.0, *values]
        self.low, self.high = min(found), max(*found, 1.0)
        self.start, self.length = start, length

    def position(self, value: float) -> float:
        low, high = symmetric_log(self.low), symmetric_log(self.high)
        return round(self.start + self.length * (symmetric_log(value) - low) / (high - low), 1)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        steps = (0.0, *(sign * 10.0**power for power in range(10) for sign in (1, -1)))
        inside = sorted(step for step in steps if self.low <= step <= self.high)
        return tuple((self.position(step), f"{step:g}".replace("-", "−")) for step in inside)


def _strokes(places: Iterable[float]) -> tuple[float, ...]:
    """Returns the positions rounded to integers, sorted and without duplicates.

    Rounding makes positions equal, so that the drawing has fewer marks.
    """
    return tuple(sorted({float(round(place)) for place in places}))


def _title(ledger: Ledger, number: int, predicted: float, measured: float) -> str:
    operators = operators_text(ledger.kernels[number].operators)
    return printable_text(
        f"{operators}: {time_text(predicted)} promised, {time_text(measured)} saved", limit=300
    )
