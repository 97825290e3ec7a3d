"""Predictions wrong by more than a factor of 2, each with its first cause, in Markdown.

Causes depend on the measurements and the operators, never on one model.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
"""A candidate: ``case``, ``operators``, ``predicted_us``, ``measured_us``, ``apart_us``,
``fused_us``.
"""
SMALL = 0.05
"""A smaller saving, as a share of the unfused time, is noise."""
PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose"})
MOVED = frozenset({"Transpose", "Concat", "Split", "Slice", "Gather", "Pad"})
REDUCED = frozenset(
    {"Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization", "InstanceNormalization"}
)


def _is_small(row: Row) -> bool:
    return bool(abs(row["measured_us"]) < SMALL * row["apart_us"])


def _has(*kinds: frozenset[str]) -> Callable[[Row], bool]:
    return lambda row: all(kind.intersection(row["operators"]) for kind in kinds)


def _reduces(row: Row) -> bool:
    return any(one in REDUCED or one.startswith("Reduce") for one in row["operators"])


CAUSES: Sequence[tuple[str, Callable[[Row], bool]]] = (
    (
        "the saving is less than 5 % of the time: what is promised and what is measured are "
        "differences of two long times",
        _is_small,
    ),
    (
        "a call of oneDNN with what it takes along, or with its layouts, takes another time than "
        "its FLOPs and bytes say",
        _has(PRODUCTS),
    ),
    (
        "elements change places inside of a kernel: what stands before is computed for each place "
        "that reads it, and vectors are put together by elements",
        _has(MOVED),
    ),
    (
        "a row is summed up or normalised: how often it is read, and what waits for its sum, "
        "depends on its length",
        _reduces,
    ),
    (
        "a chain of operators: bytes come from a nearer or farther cache than the one that holds "
        "all of them",
        lambda row: True,
    ),
)
"""Cause → whether it holds for a candidate; the first one that holds is reported."""


def is_miss(row: Row) -> bool:
    """Whether the measured saving is outside half to twice the predicted one."""
    saved = row["measured_us"]
    return not saved or not 0.5 < row["predicted_us"] / saved < 2


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Per cause: wrong predictions, those that were too high, and one example."""
    misses = [row for row in rows if is_miss(row)]
    left = list(misses)
    yield "| cause | candidates | too much promised | median of promised − saved | one of them |"
    yield "|---|--:|--:|--:|---|"
    for cause, holds in CAUSES:
        own = [row for row in left if holds(row)]
        left = [row for row in left if not holds(row)]
        if own:
            too_much = sum(row["predicted_us"] > row["measured_us"] for row in own)
            gap = statistics.median(abs(row["predicted_us"] - row["measured_us"]) for row in own)
            typical = min(
                own, key=lambda row: abs(abs(row["predicted_us"] - row["measured_us"]) - gap)
            )
            yield f"| {cause} | {len(own)} | {too_much} | {gap:.1f} µs | {_miss_text(typical)} |"
    yield (
        f"| all | {len(misses)} of {len(rows)} | "
        f"{sum(row['predicted_us'] > row['measured_us'] for row in misses)} | | |"
    )


def _miss_text(row: Row) -> str:
    operators = ", ".join(row["operators"][:6]) + (" …" if len(row["operators"]) > 6 else "")
    return (
        f"{row['case']} ({operators}): {row['predicted_us']:.1f} promised, "
        f"{row['measured_us']:.1f} saved of {row['apart_us']:.1f} µs"
    )
