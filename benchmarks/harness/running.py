"""Measures a line: interleaved contestants, compared results, and receipts of our kernels."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.harness.lines import (
    CEILINGS,
    COMPILED,
    CUSTOM,
    NOT_KEPT,
    OURS,
    RUNTIME,
    TORCH,
    UNFUSED,
    Line,
)
from benchmarks.harness.processes import Process, in_turns
from benchmarks.harness.workloads import Operator, expected_of, is_operator, is_smaller
from benchmarks.measuring import Samples, is_quick, largest_error
from tbe_impl.runtime import machine

TOLERANCE = {"float32": 2e-6, "float16": 2e-3}
"""Limit for an operator's result against its float64 formula, |found − expected| ÷ (1 +
|expected|).
"""
DIFFERS_MAX = 1e-3
"""Limit for a network's result against those of the others."""


def measure_line(line: Line) -> dict[str, Any]:
    """The record of a line; `right` is False if a result is wrong or none of our kernels ran."""
    with ExitStack() as running:
        known = {
            who: running.enter_context(Process(who, line)) for who in (OURS, *taking_part(line))
        }
        for one in known.values():
            one.wait()
        for one in known.values():
            one.warm_up()
        found = in_turns(known)
        # a training step has changed its weights
        last = known[OURS].first if line.what == "training" else known[OURS].result()
        receipts = {
            who: known[who].receipts()
            for who in (OURS, CUSTOM, UNFUSED)
            if who in known and known[who].once_s < 1.0
        }
    first = {who: one.first for who, one in known.items() if who not in CEILINGS}
    off = _differences(line, first)
    off[OURS] = max(off[OURS], _differences(line, {**first, OURS: last})[OURS])
    return {
        "title": line.title,
        "workload": line.workload,
        "what": line.what,
        "smaller": is_smaller(line.workload),
        "differs": off,
        "receipts": receipts,
        "right": off[OURS] <= _tolerance(line)
        and all(
            receipts[who][what] > 0
            for who in (OURS, CUSTOM)
            if who in receipts
            for what in ("fused", "libraries")
        ),
        "targets": dict(line.targets),
        "times": {who: one.record() for who, one in found.items()},
        "ratios": {who: _spread(found[who], found[OURS]) for who in found if who != OURS},
    }


def taking_part(line: Line) -> tuple[str, ...]:
    """The installed rivals of a line.

    ``WITHOUT`` excludes names (comma-separated), and the short form excludes torch's compiler.
    """
    left_out = {one.strip() for one in os.environ.get("WITHOUT", "").split(",")}
    left_out |= {COMPILED} if is_quick() else set()
    left_out |= set(NOT_KEPT) if machine.is_kept_to_avx2() else set()
    if importlib.util.find_spec("torch") is None:
        # torch exports the models of ONNX Runtime
        left_out |= {TORCH, COMPILED, RUNTIME}
    return tuple(who for who in line.rivals if who not in left_out)


def _tolerance(line: Line) -> float:
    return (
        TOLERANCE[Operator.parse(line.workload).dtype]
        if is_operator(line.workload)
        else DIFFERS_MAX
    )


def _differences(line: Line, first: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Differences from the formula; for a network from ours, and of ours from the farthest."""
    expected = expected_of(line.workload)
    reference = first[OURS] if expected is None else expected
    off = {who: largest_error([one], [reference]) for who, one in first.items()}
    if expected is None:
        off[OURS] = max(off.values())
    return off


def _spread(other: Samples, ours: Samples) -> dict[str, float]:
    """Speed-up of ours: median and quartiles of the rounds."""
    pairs = zip(other.times, ours.times, strict=True)
    low, middle, high = np.percentile(
        [a / b for a, b in pairs if a is not None and b is not None], (25, 50, 75)
    )
    return {
        "median": round(float(middle), 3),
        "low": round(float(low), 3),
        "high": round(float(high), 3),
    }


def line_text(record: Mapping[str, Any]) -> str:
    """A line of the terminal output."""
    times, ratios = record["times"], record["ratios"]
    said = f"{record['title']:<24} ours {times[OURS]['median_us'] / 1e3:9.3f} ms"
    for who, ratio in ratios.items():
        said += (
            f"   {who} {ratio['median']:.0%}"
            if who in CEILINGS
            else f"   {who} {ratio['median']:.2f} ×"
        )
    short = short_of(record)
    ours, unfused = (record["receipts"].get(who) for who in (OURS, UNFUSED))
    said += f"   {ours['launches']} launches, {ours['fused']} of them fused" + (
        f"; {unfused['launches']} unfused" if unfused else ""
    )
    return (
        said
        + (f"  (short of: {', '.join(short)})" if short else "")
        + ("" if record["right"] else "  WRONG")
    )


def short_of(record: Mapping[str, Any]) -> list[str]:
    """Rivals whose target is missed even by the better quartile."""
    return [
        who
        for who, target in record["targets"].items()
        if who in record["ratios"] and record["ratios"][who]["high"] < target
    ]


def say(record: Mapping[str, Any]) -> None:
    """Prints it."""
    print(line_text(record), flush=True)
    if not record["right"]:
        print(
            f"  differences: {record['differs']}; receipts: {record['receipts']}", file=sys.stderr
        )
