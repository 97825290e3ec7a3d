"""Stored figures per vector width, the pages made of them, and their consistency checks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.drawing import draw_chart
from benchmarks.harness.lines import LINES
from benchmarks.harness.runs import pool_runs, run_of, runs_of
from benchmarks.harness.table import KINDS, machine_text, readme_table, table, vectors

ROOT = Path(__file__).resolve().parents[2]
RECORDS, DRAWING = ROOT / "benchmarks/results", ROOT / "docs/bench.svg"
FULL = ROOT / "docs/speed.md"
READMES = (ROOT / "README.md", ROOT / "README.zh.md")
BEGIN, END = "<!-- figures of make bench -->\n", "<!-- end of figures -->\n"


OTHER_DAYS = 1.15
"""A ratio of another run outside the stored quartiles by more than this factor has changed."""


def store(record: Mapping[str, Any], *, add: bool = False) -> None:
    """Stores the record and regenerates the pages; lines not measured now stay if the processor is
    the same.

    Args:
        add: merge the runs of each line with the stored ones instead of replacing them.
    """
    _place(vectors(record)).write_text(
        json.dumps(_merge_record(record, add=add), indent=1) + "\n", "utf-8"
    )
    records = read_records()
    DRAWING.write_text(draw_chart(records[0]), "utf-8")
    for page in (FULL, *READMES):
        page.write_text(render_page(page, records), "utf-8")


def render_page(page: Path, records: Sequence[Mapping[str, Any]]) -> str:
    """A page with its figures: a selection of the widest vectors in a README, else all."""
    shown, draw = (records[:1], readme_table) if page in READMES else (records, table)
    before, rest = page.read_text("utf-8").split(BEGIN)
    tables = "\n".join(f"{machine_text(one)}\n\n{draw(one)}" for one in shown)
    return f"{before}{BEGIN}{tables}{END}{rest.split(END)[1]}"


def read_records() -> list[dict[str, Any]]:
    """The records, widest vectors first; a record limited to narrower vectors is last."""
    return [json.loads(place.read_text("utf-8")) for place in map(_place, KINDS) if place.exists()]


def compare_with_stored(record: Mapping[str, Any]) -> list[str]:
    """Differences of a run from the stored record of its processor, a line each.

    Other processors and smaller workloads are not compared.
    """
    old = {line["title"]: line["ratios"] for line in _stored_of(record).get("lines", ())}
    return [
        f"{line['title']}, {who}: {now['median']:.2f}, stored {was['low']:.2f} to {was['high']:.2f}"
        for line in record["lines"]
        if not line.get("smaller")
        for who, now in line["ratios"].items()
        if (was := old.get(line["title"], {}).get(who))
        and not was["low"] / OTHER_DAYS <= now["median"] <= was["high"] * OTHER_DAYS
    ]


def _place(width: str) -> Path:
    return RECORDS / f"bench-{width.lower().replace(' ', '-')}.json"


def _stored_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The stored record of the same processor; empty if there is none."""
    return next((one for one in read_records() if _kind(one) == _kind(record)), {})


def _kind(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Processor name with its shared cache size: machines of several kinds report the same name."""
    return record["processor"], vectors(record), record["caches"].get("L3 Unified")


def _merge_record(record: Mapping[str, Any], *, add: bool) -> dict[str, Any]:
    before = _stored_of(record)
    found = {
        line["title"]: {**line, "runs": runs_of(before, line)} for line in before.get("lines", ())
    }
    for line in record["lines"]:
        earlier = found[line["title"]]["runs"] if add and line["title"] in found else []
        found[line["title"]] = pool_runs(line, [*earlier, run_of(record, line)])
    return {**record, "lines": [found[line.title] for line in LINES if line.title in found]}
