"""Draws measured times relative to ours as a self-contained SVG, one row per line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from benchmarks.harness.lines import (
    CEILING,
    COMPILED,
    CUSTOM,
    INSIDE,
    OWN,
    REPAIRED,
    RUNTIME,
    TORCH,
    UNFUSED,
)

COLOURS = {
    CUSTOM: "#000",
    UNFUSED: "#c33",
    REPAIRED: "#e90",
    OWN: "#939",
    TORCH: "#26c",
    COMPILED: "#0aa",
    RUNTIME: "#693",
    CEILING: "#888",
    INSIDE: "#bbb",
}
LEFT, WIDTH, ROW, HEAD, EDGE = 190, 620, 24, 84, 40
LEAST, MOST = 0.25, 256.0


def draw_chart(record: Mapping[str, Any]) -> str:
    """Dots right of 1 are slower than ours, dots left of it faster; the axis is logarithmic."""
    lines = record["lines"]
    height = HEAD + ROW * len(lines) + EDGE
    drawing = ElementTree.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {LEFT + WIDTH + EDGE} {height}",
        role="img",
    )
    _add(drawing, "rect", width="100%", height="100%", fill="white")
    for number, (who, colour) in enumerate(COLOURS.items()):
        left = LEFT + number % 4 * 165
        top = 18 + number // 4 * 20
        _add(drawing, "circle", cx=left, cy=top - 4, r=5, fill=colour)
        _text(drawing, left + 10, top, who)
    tick = LEAST
    while tick <= MOST:
        _add(
            drawing,
            "line",
            x1=_x_position(tick),
            x2=_x_position(tick),
            y1=HEAD - 8,
            y2=height - EDGE,
            stroke="#333" if tick == 1 else "#ddd",
        )
        _text(drawing, _x_position(tick), height - EDGE + 18, f"{tick:g} ×", anchor="middle")
        tick *= 2 if tick < 1 else 4
    _text(
        drawing,
        LEFT + WIDTH / 2,
        height - 6,
        "time of others ÷ time of ours (logarithmic)",
        anchor="middle",
    )
    for number, line in enumerate(lines):
        middle = HEAD + ROW * number + ROW / 2
        _text(drawing, LEFT - 14, middle + 4, line["title"], anchor="end")
        for who, ratio in line["ratios"].items():
            _dot(drawing, who, ratio, middle)
    return ElementTree.tostring(drawing, encoding="unicode") + "\n"


def _dot(drawing: ElementTree.Element, who: str, ratio: Mapping[str, float], middle: float) -> None:
    colour = COLOURS[who]
    _add(
        drawing,
        "line",
        x1=_x_position(ratio["low"]),
        x2=_x_position(ratio["high"]),
        y1=middle,
        y2=middle,
        stroke=colour,
    )
    dot = _add(
        drawing, "circle", cx=_x_position(ratio["median"]), cy=middle, r=5, fill=colour, opacity=0.8
    )
    ElementTree.SubElement(dot, "title").text = f"{who}: {ratio['median']:.2f} × our time"


def _x_position(ratio: float) -> float:
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + WIDTH * share, 1)


def _add(drawing: ElementTree.Element, kind: str, **told: object) -> ElementTree.Element:
    return ElementTree.SubElement(drawing, kind, {name: str(one) for name, one in told.items()})


def _text(
    drawing: ElementTree.Element, left: float, top: float, said: str, anchor: str = "start"
) -> None:
    _add(
        drawing,
        "text",
        x=left,
        y=top,
        **{"font-size": 13, "font-family": "sans-serif", "text-anchor": anchor},
    ).text = said
