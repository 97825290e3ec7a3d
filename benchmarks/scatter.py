"""Draws a scatter plot as a self-contained SVG; both axes are logarithmic beyond 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

SIDE, EDGE = 640, 60
TICKS = (-1000.0, -100.0, -10.0, 0.0, 10.0, 100.0, 1000.0)


def _symmetric_log(value: float) -> float:
    """Linear up to 1, logarithmic beyond."""
    return math.copysign(math.log10(1 + abs(value)), value)


def scatter(points: Sequence[tuple[float, float, str]], x: str, y: str) -> str:
    """The drawing.

    Args:
        points: coordinates and the tooltip of each point.
        x, y: axis titles.
    """
    most = max((abs(_symmetric_log(one)) for point in points for one in point[:2]), default=1.0)
    middle, reach = SIDE / 2, SIDE / 2 - EDGE

    def position(value: float) -> float:
        return _symmetric_log(value) / most * reach

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
        if abs(_symmetric_log(tick)) <= most:
            line(position(tick), -reach, position(tick), reach, "#ddd" if tick else "#888")
            line(-reach, position(tick), reach, position(tick), "#ddd" if tick else "#888")
            text(
                middle + position(tick), SIDE - EDGE + 18, f"{tick:g}", **{"text-anchor": "middle"}
            )
            text(EDGE - 6, middle - position(tick) + 4, f"{tick:g}", **{"text-anchor": "end"})
    line(-reach, -reach, reach, reach, "#4a4")
    for one, other, said in points:
        dot = ElementTree.SubElement(
            drawing,
            "circle",
            cx=f"{middle + position(one):.1f}",
            cy=f"{middle - position(other):.1f}",
            r="3",
            fill="#26c",
            opacity="0.5",
        )
        ElementTree.SubElement(dot, "title").text = said
    text(middle, SIDE - 12, x, **{"text-anchor": "middle"})
    text(14, middle, y, **{"text-anchor": "middle", "transform": f"rotate(-90 14 {middle})"})
    return ElementTree.tostring(drawing, encoding="unicode")
