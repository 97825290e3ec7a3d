"""MindSpore's two modes as rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import mindspore as ms
import pytest

from tests.cases import FULL

MODES = (ms.GRAPH_MODE, ms.PYNATIVE_MODE)
MODE_NAMES = ("graph", "pynative")


def mostly_pynative(
    values: Iterable[Any],
    graph: Collection[str],
    label: Callable[[Any], str] = str,
    quick: Collection[str] | None = None,
) -> list[Any]:
    """Rows of each value with each mode.

    ``make test`` takes graph mode, whose compilation takes seconds, for the values labelled
    `graph`. It takes PyNative for the others, or only for those labelled `quick` if given.
    """
    rows = []
    for value in values:
        name = label(value)
        for mode, mode_name in zip(MODES, MODE_NAMES, strict=True):
            is_quick = (name in graph) == (mode == ms.GRAPH_MODE)
            is_quick = is_quick and (quick is None or name in (*quick, *graph))
            rows.append(
                pytest.param(value, mode, id=f"{name}-{mode_name}", marks=() if is_quick else FULL)
            )
    return rows
