"""What the model of costs promised beside what was measured: a dot for each fused kernel, a stroke where nothing was measured.

Both axes are linear up to 1 µs and logarithmic beyond, on both sides of 0, so that what costs instead of saving is seen too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ms_fusion.ledger import Ledger
from ms_fusion.report.printable import printable
from ms_fusion.report.units import time_text
from ms_fusion.report.wording import operators_text

LEFT, TOP, WIDTH, HEIGHT, RUG = 56.0, 14.0, 500.0, 290.0, 12.0


@dataclass(frozen=True)
class Dot:
    """A fused kernel: its number, its place, its title."""

    kernel: int
    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Predictions:
    """Everything that the drawing needs, in its own units; ticks are (place, label).

    Attributes:
        dots: kernels that were measured.
        made, not_made: places of strokes below: kernels that were not measured, fusions that were not made.
        counts: how many kernels and how many fusions the strokes stand for.
        right, near: of how many dots the sign is right, and how many are within a factor of 2.
    """

    dots: tuple[Dot, ...]
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
    """The drawing, or None when nothing was predicted."""
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
    not_made = [one.saving_us for one in ledger.rejected if math.isfinite(one.saving_us)]
    if not (both or made or not_made):
        return None
    wide = _Axis([predicted for _, predicted, _ in both] + made + not_made, LEFT, WIDTH)
    high = _Axis([measured for _, _, measured in both], TOP + HEIGHT, -HEIGHT)
    bottom = TOP + HEIGHT if both else TOP
    dots = tuple(
        Dot(
            number,
            wide.at(predicted),
            high.at(measured),
            _title(ledger, number, predicted, measured),
        )
        for number, predicted, measured in both
    )
    low, most = max(wide.low, high.low), min(wide.high, high.high)
    return Predictions(
        dots,
        _strokes(map(wide.at, made)),
        _strokes(map(wide.at, not_made)),
        (len(made), len(not_made)),
        sum((predicted > 0) == (measured > 0) for _, predicted, measured in both),
        sum(0.5 < predicted / measured < 2 for _, predicted, measured in both if measured),
        wide.ticks,
        high.ticks if both else (),
        (wide.at(low), high.at(low), wide.at(most), high.at(most)) if both and low < most else None,
        bottom=bottom,
    )


def scaled(value: float) -> float:
    """Linear up to 1, logarithmic beyond; the sign stays.

    >>> scaled(9.0), scaled(-99.0)
    (1.0, -2.0)
    """
    return math.copysign(math.log10(1 + abs(value)), value)


class _Axis:
    """Where values lie between two ends, 0 among them."""

    def __init__(self, values: Iterable[float], start: float, length: float):
        found = [0.0, *values]
        self.low, self.high = min(found), max(*found, 1.0)
        self.start, self.length = start, length

    def at(self, value: float) -> float:
        low, high = scaled(self.low), scaled(self.high)
        return round(self.start + self.length * (scaled(value) - low) / (high - low), 1)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        steps = (0.0, *(sign * 10.0**power for power in range(10) for sign in (1, -1)))
        inside = sorted(step for step in steps if self.low <= step <= self.high)
        return tuple((self.at(step), f"{step:g}".replace("-", "−")) for step in inside)


def _strokes(places: Iterable[float]) -> tuple[float, ...]:
    """Each place once, to a whole unit, so that the drawing stays small."""
    return tuple(sorted({float(round(place)) for place in places}))


def _title(ledger: Ledger, number: int, predicted: float, measured: float) -> str:
    operators = operators_text(ledger.kernels[number].operators)
    return printable(
        f"{operators}: {time_text(predicted)} promised, {time_text(measured)} saved", limit=300
    )
