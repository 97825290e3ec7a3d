"""The figures that the README shows: the last stored record, the part of the README that is made of it, and what agrees with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.drawing import drawn
from benchmarks.harness.lines import LINES
from benchmarks.harness.table import COLUMNS, SHOWN, described, table

ROOT = Path(__file__).resolve().parents[2]
RECORD, DRAWING = ROOT / "benchmarks/results/bench.json", ROOT / "docs/bench.svg"
FULL = ROOT / "docs/speed.md"
READMES = (ROOT / "README.md", ROOT / "README.zh.md")
BEGIN, END = "<!-- figures of make bench -->\n", "<!-- end of figures -->\n"


OTHER_DAYS = 1.15
"""A ratio of another run that is farther than this from the stored quartiles has changed."""


def store(record: Mapping[str, Any]) -> None:
    """Keeps the record, draws it, and writes its table into both READMEs; lines that were not measured now stay as they were."""
    kept = _merged(record)
    RECORD.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    DRAWING.write_text(drawn(kept), "utf-8")
    for page, columns in ((FULL, COLUMNS), *((readme, SHOWN) for readme in READMES)):
        page.write_text(replaced(page.read_text("utf-8"), kept, columns), "utf-8")


def replaced(text: str, record: Mapping[str, Any], columns: Sequence[str]) -> str:
    """A page with the figures of the record."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{described(record)}\n\n{table(record, columns)}{END}{rest.split(END)[1]}"  # fmt: skip


def stored() -> dict[str, Any]:
    """The record; without lines before the first was stored."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"lines": []}  # fmt: skip
    return found


def changed(record: Mapping[str, Any]) -> list[str]:
    """What a run on the processor of the stored record found otherwise, a line each; nothing on another, or of what was smaller."""
    known = stored()
    if known.get("processor") != record["processor"]:
        return []
    old = {line["title"]: line["ratios"] for line in known["lines"]}
    return [
        f"{line['title']}, {who}: {now['median']:.2f}, stored {was['low']:.2f} to {was['high']:.2f}"
        for line in record["lines"]
        if not line.get("smaller")
        for who, now in line["ratios"].items()
        if (was := old.get(line["title"], {}).get(who))
        and not was["low"] / OTHER_DAYS <= now["median"] <= was["high"] * OTHER_DAYS
    ]


def _merged(record: Mapping[str, Any]) -> dict[str, Any]:
    found = {line["title"]: line for line in (*stored()["lines"], *record["lines"])}
    return {**record, "lines": [found[line.title] for line in LINES if line.title in found]}
