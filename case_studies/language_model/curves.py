"""Draws loss curves of all stages, and their differences from the first stage below."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, TOP, GAP = 720, 240, 64, 30, 50
COLOURS = ("#8a8a8a", "#d98200", "#1f77b4", "#2ca02c", "#9467bd")
LEAST = 1e-8
"""Smaller relative differences are drawn at this value."""


def picture(losses: Mapping[str, Sequence[float]]) -> str:
    """An SVG of the curves; the difference from the first is drawn logarithmically.

    Args:
        losses: losses by stage name, all of one length.
    """
    names = list(losses)
    first = losses[names[0]]
    apart = {
        name: [
            math.log10(max(abs(a - b) / abs(b), LEAST))
            for a, b in zip(losses[name], first, strict=True)
        ]
        for name in names[1:]
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {2 * HEIGHT + GAP + TOP}" '
        f'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_panel(losses, COLOURS, TOP, "loss, nats a character", "{:.2f}", dashed=True),
        *_panel(
            apart,
            COLOURS[1:],
            TOP + HEIGHT + GAP,
            f"difference from {names[0]}, relative",
            "1e{:.0f}",
        ),
    ]
    for number, name in enumerate(names):
        x = LEFT + 130 * number
        parts.append(f'<text x="{x}" y="14" fill="{COLOURS[number]}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    lines: Mapping[str, Sequence[float]],
    colours: Sequence[str],
    top: int,
    title: str,
    shown: str,
    *,
    dashed: bool = False,
) -> list[str]:
    """One set of axes with its lines; coinciding lines are dashed."""
    every = [value for line in lines.values() for value in line]
    low, high = math.floor(min(every)), math.ceil(max(every))
    high += low == high
    count = max(len(line) for line in lines.values())
    inner = HEIGHT - TOP

    def place(number: int, value: float) -> str:
        x = LEFT + (WIDTH - LEFT - 10) * number / max(count - 1, 1)
        return f"{x:.1f},{top + inner * (high - value) / (high - low):.1f}"

    parts = [f'<text x="{LEFT}" y="{top - 6}" fill="#333">{escape(title)}</text>']
    for value in sorted({low, (low + high) / 2, high}):
        y = place(0, value).split(",")[1]
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y}" text-anchor="end" dominant-baseline="middle" '
            f'fill="#555">{shown.format(value)}</text>'
        )
    parts.append(
        f'<text x="{WIDTH - 10}" y="{top + inner + 16}" text-anchor="end" fill="#555">step '
        f"{count}</text>"
    )
    for number, (line, colour) in enumerate(zip(lines.values(), colours, strict=False)):
        points = " ".join(place(*pair) for pair in enumerate(line))
        dash = f' stroke-dasharray="{4 * (number + 1)} {4 * number}"' if dashed and number else ""
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dash} points="{points}"/>'
        )
    return parts
