"""Totals over many arrays that all results need are planned in a few steps.

Examples are gradients clipped by their norm, and a loss summed from several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen import program
from tbe_impl.runtime.store import Store
from tests.tbe_impl.codegen.graphs import assert_same, run_both

SHAPES = [(9 + n, 20) for n in range(8)] + [(40,), (40,)]


def clipped(*gradients: Any) -> list[Any]:
    totals = [
        dsl.ext.reshape(dsl.reduce_sum(dsl.vmul(one, one), list(range(one.ndim)), True), (1,))
        for one in gradients
    ]
    whole = totals[0]
    for one in totals[1:]:
        whole = dsl.vadd(whole, one)
    scale = dsl.vrsqrt(whole)
    return [
        dsl.vmul(one, dsl.broadcast(dsl.ext.reshape(scale, (1,) * one.ndim), one.shape))
        for one in gradients
    ]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each plan."""
    found, plan = [], program.nests_of
    monkeypatch.setattr(program, "nests_of", lambda *given: found.append(1) or plan(*given))
    return found


def test_gradients_clipped_by_their_norm(cache: Store, written: list[int]) -> None:
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    norm = np.sqrt(sum((one.astype(np.float64) ** 2).sum() for one in arrays))
    for (found, other), array in zip(run_both(clipped, *arrays, cache=cache), arrays, strict=True):
        np.testing.assert_allclose(found, array / norm, rtol=3e-6)
        assert_same(other, found)
    # separate totals would each have a plan
    assert len(written) <= 4


def loss(*parts: Any) -> list[Any]:
    whole = dsl.reduce_sum(parts[0], list(range(parts[0].ndim)))
    for number, one in enumerate(parts[1:]):
        total = dsl.reduce_sum(dsl.vabs(one), list(range(one.ndim)))
        whole = dsl.vadd(whole, dsl.vmuls(total, 0.5 + number))
    return [whole]


def test_a_loss_of_many_sums(cache: Store, written: list[int]) -> None:
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    first, *others = (one.astype(np.float64) for one in arrays)
    wanted = [
        first.sum() + sum((0.5 + number) * np.abs(one).sum() for number, one in enumerate(others))
    ]
    ((found, other),) = run_both(loss, *arrays, cache=cache)
    np.testing.assert_allclose([found, other], [wanted, wanted], rtol=3e-6)
    assert len(written) <= 2
