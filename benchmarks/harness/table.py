"""What was measured, as a table in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.lines import (
    CEILING,
    CEILINGS,
    COMPILED,
    CUSTOM,
    INSIDE,
    OURS,
    OWN,
    REPAIRED,
    RUNTIME,
    TORCH,
    UNFUSED,
)

COLUMNS = (CUSTOM, UNFUSED, REPAIRED, OWN, TORCH, COMPILED, RUNTIME, CEILING, INSIDE)
SHOWN = tuple(who for who in COLUMNS if who not in (CUSTOM, REPAIRED, INSIDE))
"""In the README."""


WIDTHS = {"AVX-512": "avx512f", "AVX2": "avx2", "other vectors": ""}
"""Of vectors, the widest first, and what a processor that has them says: which of MindSpore's, oneDNN's and our kernels run depends on it."""
KEPT = "AVX2 only"
"""A processor with AVX-512 of which everybody who takes part was told to leave that out."""
KINDS = (*WIDTHS, KEPT)
"""Of records."""


def vectors(record: Mapping[str, Any]) -> str:
    """The widest of its processor that were used."""
    if record.get("kept_to_avx2"):
        return KEPT
    return next(
        width for width, feature in WIDTHS.items() if not feature or feature in record["features"]
    )


def table(record: Mapping[str, Any], columns: Sequence[str] = COLUMNS) -> str:
    """A row for each line: our time, how many times as fast ours is as each other (with the quartiles of the rounds, the farthest of several runs), and our share of the ceiling, with its time."""
    heads = [
        "",
        "ours",
        *(f"of the {who}" if who in CEILINGS else f"÷ {who}" for who in columns),
        "launches, unfused → ours",
    ]
    rows = [heads, ["---"] * len(heads), *(_row(line, columns) for line in record["lines"])]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def described(record: Mapping[str, Any]) -> str:
    """The machine and the versions, in a sentence."""
    peers = ", ".join(f"{name} {version}" for name, version in record["peers"].items() if version)
    runs = [len(line.get("runs", "1")) for line in record["lines"]]
    each = f"; each line of {min(runs)} to {max(runs)} runs" if max(runs) > 1 else ""
    return f"{record['processor']} with {vectors(record)}, {record['threads']} threads, {peers}; {record['when'][:10]}{each}."


def _row(line: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    receipts = line["receipts"]
    before = receipts.get(UNFUSED, {}).get("launches", "–")
    return [
        line["title"],
        _time(line["times"][OURS]),
        *(_ratio(line, who) for who in columns),
        f"{before} → {receipts[OURS]['launches']}",
    ]


def _time(samples: Mapping[str, float]) -> str:
    took = samples["median_us"]
    return f"{took / 1e3:.3g} ms" if took >= 1e3 else f"{took:.3g} µs"


def _ratio(line: Mapping[str, Any], who: str) -> str:
    found = line["ratios"].get(who)
    if found is None:
        return "–"
    if who in CEILINGS:
        return f"{found['median']:.0%} ({found['low'] * 100:.0f}–{found['high']:.0%}) of {_time(line['times'][who])}"
    return (
        f"{found['median']:.2f} ({found['low']:.2f}–{found['high']:.2f})"
        if found["median"] < 10
        else f"{found['median']:.0f} ({found['low']:.0f}–{found['high']:.0f})"
    )
