"""Formats the measurements as a Markdown table."""

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
README_COLUMNS = (UNFUSED, OWN, TORCH, COMPILED, RUNTIME)
README_LINES = (
    "swish, forward",
    "layer_norm, forward",
    "MLP, training",
    "transformer, inference",
    "transformer, training",
    "ResNet, training",
    "YOLOv3, inference",
    "LSTM, inference",
)
"""Titles: operators, training, inference, and the net that loses most."""


WIDTHS = {"AVX-512": "avx512f", "AVX2": "avx2", "other vectors": ""}
"""Vector extension, widest first → processor flag; it decides which kernels of MindSpore, oneDNN
and ours run.
"""
KEPT = "AVX2 only"
"""A processor with AVX-512 where all contestants are limited to AVX2."""
KINDS = (*WIDTHS, KEPT)
"""Kinds of records."""


def vectors(record: Mapping[str, Any]) -> str:
    """The widest vector extension in use."""
    if record.get("kept_to_avx2"):
        return KEPT
    return next(
        width for width, feature in WIDTHS.items() if not feature or feature in record["features"]
    )


def table(record: Mapping[str, Any]) -> str:
    """One row per line: our time, speed-ups with quartiles, shares of the ceilings with their
    times.

    A speed-up is the other's time divided by ours. The quartiles are those of the rounds; several
    runs give the outermost ones.
    """
    return _markdown(record["lines"], COLUMNS, spread=True)


def readme_table(record: Mapping[str, Any]) -> str:
    """The table of the README: few lines and columns, medians only."""
    lines = [line for line in record["lines"] if line["title"] in README_LINES]
    return _markdown(lines, README_COLUMNS, spread=False)


def _markdown(
    lines: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    spread: bool,
) -> str:
    heads = [
        "",
        "ours",
        *(f"of the {who}" if who in CEILINGS else f"÷ {who}" for who in columns),
        "launches, unfused → ours",
    ]
    rows = [heads, ["---"] * len(heads), *(_row(line, columns, spread=spread) for line in lines)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def machine_text(record: Mapping[str, Any]) -> str:
    """The machine and the versions, in a sentence."""
    peers = ", ".join(f"{name} {version}" for name, version in record["peers"].items() if version)
    runs = [len(line.get("runs", "1")) for line in record["lines"]]
    each = f"; each line combines {min(runs)} to {max(runs)} runs" if max(runs) > 1 else ""
    return (
        f"{record['processor']} with {vectors(record)}, {record['threads']} threads, {peers}; "
        f"{record['when'][:10]}{each}."
    )


def _row(line: Mapping[str, Any], columns: Sequence[str], *, spread: bool) -> list[str]:
    receipts = line["receipts"]
    before = receipts.get(UNFUSED, {}).get("launches", "–")
    return [
        line["title"],
        _time(line["times"][OURS]),
        *(_ratio(line, who, spread=spread) for who in columns),
        f"{before} → {receipts[OURS]['launches']}",
    ]


def _time(samples: Mapping[str, float]) -> str:
    took = samples["median_us"]
    return f"{took / 1e3:.3g} ms" if took >= 1e3 else f"{took:.3g} µs"


def _ratio(line: Mapping[str, Any], who: str, *, spread: bool) -> str:
    found = line["ratios"].get(who)
    if found is None:
        return "–"
    if who in CEILINGS:
        return (
            f"{found['median']:.0%} ({found['low'] * 100:.0f}–{found['high']:.0%}) of "
            f"{_time(line['times'][who])}"
        )
    digits = 2 if found["median"] < 10 else 0
    median = f"{found['median']:.{digits}f}"
    if not spread:
        return median
    return f"{median} ({found['low']:.{digits}f}–{found['high']:.{digits}f})"
