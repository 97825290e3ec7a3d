"""Rows in both modes of MindSpore; graph mode compiles and takes ten times as long as PyNative."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

import mindspore as ms
import pytest

from tests.cases import FULL, cases

Test = Callable[..., None]
MODES = {"pynative": ms.PYNATIVE_MODE, "graph": ms.GRAPH_MODE}


def in_modes(
    names: str,
    values: Iterable[Any],
    *,
    graph: Collection[Any] = (),
    quick: Collection[Any] | None = None,
    **more: Any,
) -> Callable[[Test], Test]:
    """`cases` over `values`, each in both modes.

    Args:
        names: the arguments of a row, separated by commas.
        values: the rows, as for `cases`.
        graph: rows that `make test` also runs in graph mode.
        quick: rows that `make test` runs in PyNative mode; default: all.
        more: further arguments of `cases`.
    """
    several = "," in names
    taken = {"graph": graph, "pynative": quick}
    rows = [
        pytest.param(
            *(value if several else (value,)),
            mode,
            marks=() if taken[mode] is None or value in taken[mode] else FULL,
        )
        for value in values
        for mode in MODES
    ]
    return lambda test: cases(f"{names}, mode", rows, **more)(_in_mode(test))


def in_both_modes(test: Test) -> Test:
    """The test in both modes, in `make test` too."""
    return cases("mode", list(MODES))(_in_mode(test))


def in_pynative_first(test: Test) -> Test:
    """The test in both modes; `make test` runs it in PyNative mode only."""
    return cases("mode", ["pynative", pytest.param("graph", marks=FULL)])(_in_mode(test))


def _in_mode(test: Test) -> Test:
    """The test with one more argument: its mode."""

    @functools.wraps(test)
    def run(*given: Any, mode: str, **named: Any) -> None:
        ms.set_context(mode=MODES[mode])
        test(*given, **named)

    signature = inspect.signature(test)
    added = inspect.Parameter("mode", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), added]
    )
    del run.__wrapped__
    return run
