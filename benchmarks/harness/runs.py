"""Merges several runs of a line: runs differ by more than the rounds of one run."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def run_of(record: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """The stored part of a run's line: date, medians of all times, ratios."""
    times = {who: {"median_us": found["median_us"]} for who, found in line["times"].items()}
    return {"when": record["when"], "times": times, "ratios": line["ratios"]}


def runs_of(record: Mapping[str, Any], line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runs that a stored line merges."""
    return line.get("runs") or [run_of(record, line)]


def pool_runs(line: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The line with medians over all runs; a ratio's spread covers the quartiles of all runs."""
    if len(runs) == 1:
        return {**line, "runs": [*runs]}
    times = {
        who: {"median_us": round(statistics.median(found), 3)}
        for who in line["times"]
        if (found := [run["times"][who]["median_us"] for run in runs if who in run["times"]])
    }
    ratios = {
        who: _spread(run["ratios"][who] for run in runs if who in run["ratios"])
        for who in line["ratios"]
    }
    return {**line, "times": times, "ratios": ratios, "runs": [*runs]}


def _spread(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    ratios = [*found]
    middle = statistics.median(one["median"] for one in ratios)
    return {
        "median": round(middle, 3),
        "low": min(one["low"] for one in ratios),
        "high": max(one["high"] for one in ratios),
    }
