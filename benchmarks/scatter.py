"""Points of two numbers as a drawing that needs nothing else: SVG, both axes logarithmic beside 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

SIDE, EDGE = 640, 60
TICKS = (-1000.0, -100.0, -10.0, 0.0, 10.0, 100.0, 1000.0)


def _scaled(value: float) -> float:
    """Linear up to 1, logarithmic beyond."""
    return math.copysign(math.log10(1 + abs(value)), value)


def scatter(points: Sequence[tuple[float, float, str]], x: str, y: str) -> str:
    """The drawing.

    Args:
        points: two numbers and what is shown where the pointer rests.
        x, y: what the axes are.
    """
    most = max((abs(_scaled(one)) for point in points for one in point[:2]), default=1.0)
    middle, reach = SIDE / 2, SIDE / 2 - EDGE

    def at(value: float) -> float:
        return _scaled(value) / most * reach

    drawing = ElementTree.Element(
        "svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {SIDE} {SIDE}", role="img"
    )
    ElementTree.SubElement(drawing, "rect", width=str(SIDE), height=str(SIDE), fill="white")

    def line(x1: float, y1: float, x2: float, y2: float, stroke: str) -> None:
        ElementTree.SubElement(
            drawing,
            "line",
            x1=f"{middle + x1:.1f}",
            y1=f"{middle - y1:.1f}",
            x2=f"{middle + x2:.1f}",
            y2=f"{middle - y2:.1f}",
            stroke=stroke,
        )

    def text(left: float, top: float, said: str, **more: str) -> None:
        made = ElementTree.SubElement(
            drawing,
            "text",
            {
                "x": f"{left:.1f}",
                "y": f"{top:.1f}",
                "font-size": "13",
                "font-family": "sans-serif",
                **more,
            },
        )
        made.text = said

    for tick in TICKS:
        if abs(_scaled(tick)) <= most:
            line(at(tick), -reach, at(tick), reach, "#ddd" if tick else "#888")
            line(-reach, at(tick), reach, at(tick), "#ddd" if tick else "#888")
            text(middle + at(tick), SIDE - EDGE + 18, f"{tick:g}", **{"text-anchor": "middle"})
            text(EDGE - 6, middle - at(tick) + 4, f"{tick:g}", **{"text-anchor": "end"})
    line(-reach, -reach, reach, reach, "#4a4")
    for one, other, said in points:
        dot = ElementTree.SubElement(
            drawing,
            "circle",
            cx=f"{middle + at(one):.1f}",
            cy=f"{middle - at(other):.1f}",
            r="3",
            fill="#26c",
            opacity="0.5",
        )
        ElementTree.SubElement(dot, "title").text = said
    text(middle, SIDE - 12, x, **{"text-anchor": "middle"})
    text(14, middle, y, **{"text-anchor": "middle", "transform": f"rotate(-90 14 {middle})"})
    return ElementTree.tostring(drawing, encoding="unicode")
