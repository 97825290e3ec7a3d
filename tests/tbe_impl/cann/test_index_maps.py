"""Stages that only move elements, as operations of CANN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tbe_impl import dsl
from tbe_impl.cann.index_maps import lower_index_map
from tbe_impl.dsl.tensor import Tensor, placeholder, stages_of
from tbe_impl.interpreter.evaluate import run
from tests.cases import cases

Pick = Callable[..., Any]


def moved(source: Sequence[int], shape: Sequence[int], pick: Pick) -> tuple[Tensor, Tensor]:
    """A placeholder, and a stage that reads one of its elements for each index."""
    x = placeholder(source, "float32", "x")
    return x, dsl.compute(shape, lambda *i: pick(x, *i), "moved")


@cases(
    "source, shape, pick, operations",
    [
        ((4, 9), (4, 3), lambda x, i, j: x(i, j + 2), ["split"]),
        ((4, 9), (4, 9), lambda x, i, j: x(i, j), ["vmuls"]),
        ((5, 4), (5, 7), lambda x, i, j: x(i, 2), ["split", "broadcast"]),
        ((6, 4), (5, 6), lambda x, i, j: x(j, 3), ["split", "transpose", "broadcast"]),
        ((3, 4), (4, 3), lambda x, i, j: x(j, i), ["transpose"]),
        ((3,), (2, 3), lambda x, i, j: x(j), ["broadcast"]),
    ],
)
def test_moves_are_operations(
    source: tuple[int, ...], shape: tuple[int, ...], pick: Pick, operations: list[str]
) -> None:
    x, stage = moved(source, shape, pick)
    found = lower_index_map(stage.op)
    assert found is not None
    used = [op.dsl_call.name for op in stages_of([found]) if op.dsl_call is not None]
    assert used == operations
    array = np.random.default_rng(0).standard_normal(source).astype(np.float32)
    expected, got = run([stage, found], {id(x): array})
    np.testing.assert_array_equal(got, expected)


@cases(
    "source, shape, pick",
    [
        ((3, 1), (3,), lambda x, i: x(i, 0)),
        ((3, 3), (3,), lambda x, i: x(i, i)),
        ((8,), (4,), lambda x, i: x(i * 2)),
        ((4,), (4,), lambda x, i: x(i) * 2.0),
        ((3,), (3, 2), lambda x, i, j: x(i)),
    ],
    ids=("removed axis", "diagonal", "stride", "arithmetic", "axis behind"),
)
def test_other_stages_stay(source: tuple[int, ...], shape: tuple[int, ...], pick: Pick) -> None:
    _, stage = moved(source, shape, pick)
    assert lower_index_map(stage.op) is None
