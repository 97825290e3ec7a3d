"""What the notebooks show besides their reports: times that were measured in turns, and bars."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

ROUNDS = 15
ROW, NAMES, LONGEST, NUMBERS = 26, 190, 380, 90
"""Height of a bar with its gap, and widths, in pixels."""


def in_turns(
    calls: Mapping[str, Callable[[], object]], *, rounds: int = ROUNDS
) -> dict[str, float]:
    """Median time of each call in ms; the calls are interleaved, so that other load affects all."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            found[name].append(1e3 * (time.perf_counter() - started))
    return {name: statistics.median(times) for name, times in found.items()}


@dataclass(frozen=True)
class Bars:
    """A number for each name: as a drawing, and as text where there are no drawings.

    >>> print(Bars("time", {"before": 4.0, "after": 1.0}, "ms"))
    time, ms
    before  ████████████████████  4
    after   █████  1
    """

    title: str
    numbers: Mapping[str, float]
    unit: str

    def __str__(self) -> str:
        most, width = max(self.numbers.values()), max(map(len, self.numbers))
        rows = (
            f"{name:<{width}}  {'█' * max(1, round(20 * number / most))}  {number:.3g}"
            for name, number in self.numbers.items()
        )
        return "\n".join((f"{self.title}, {self.unit}", *rows))

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        most, height = max(self.numbers.values()), ROW * (len(self.numbers) + 1)
        size = (NAMES + LONGEST + NUMBERS, height)
        drawing = ElementTree.Element(
            "svg",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {size[0]} {size[1]}",
            role="img",
            width=str(size[0]),
            height=str(size[1]),
            style="max-width:100%",
            **{"font-family": "sans-serif", "font-size": "13"},
        )
        ElementTree.SubElement(drawing, "title").text = str(self)
        ElementTree.SubElement(drawing, "rect", width="100%", height="100%", fill="white")

        def put(text: str, x: float, y: float, **more: str) -> None:
            at = {"x": f"{x:.0f}", "y": f"{y:.0f}", "fill": "#222", **more}
            ElementTree.SubElement(drawing, "text", at).text = text

        put(f"{self.title}, {self.unit}", 0, 16, **{"font-weight": "bold"})
        for row, (name, number) in enumerate(self.numbers.items(), 1):
            long, top = LONGEST * number / most, ROW * row
            put(name, NAMES - 8, top + 16, **{"text-anchor": "end"})
            ElementTree.SubElement(
                drawing,
                "rect",
                x=str(NAMES),
                y=str(top + 3),
                height="18",
                width=f"{long:.1f}",
                fill="#3f7fc6",
            )
            put(f"{number:.3g}", NAMES + long + 6, top + 16)
        return ElementTree.tostring(drawing, encoding="unicode")
