"""float32 sums stay accurate for any length and axis order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.program import write_program
from tbe_impl.runtime import machine
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import prepare, prepare_together

SHAPES = {
    "columns": ((4096, 64), [0]),
    "long columns": ((600, 1000), [0]),
    "a few columns": ((100_003, 7), [0]),
    "between": ((8, 301, 70), [1]),
    "channels": ((4, 24, 23, 29), [0, 2, 3]),
    "channels last": ((4, 23, 29, 24), [0, 1, 2]),
    "rows": ((3, 100_001), [1]),
    "short rows": ((400, 257), [1]),
    "planes": ((3, 300, 301), [1, 2]),
    "everything": ((301, 1024), [0, 1]),
}
ROUNDING = 2.0**-24 * 1.01
"""Half an ULP of the sum: its final rounding, plus the reordering error in float64."""
CHANNELS = 1.0 if "avx512f" in machine.cpu_features() else 1.5
"""Roundings of sums over channels: 16 lanes add 42 values in float32, 8 lanes 83."""


def test_sums_are_rounded_once(cache: Store, subtests: pytest.Subtests) -> None:
    given = {
        name: np.random.default_rng(0).random(shape, np.float32)
        for name, (shape, _) in SHAPES.items()
    }
    requests = [
        (lambda t, axes=axes: dsl.reduce_sum(t, axes), [given[name]])
        for name, (_, axes) in SHAPES.items()
    ]
    kernels = prepare_together(requests, cache=cache, name="long_sum", parallel_elements=2)
    for (name, (_, axes)), (kernel, *_) in zip(SHAPES.items(), kernels, strict=True):
        x = given[name]
        exact = x.sum(tuple(axes), dtype=np.float64)
        # the others add short rows, groups of rows, and each thread's results in float32
        allowed = {"between": 1, "rows": 1, "planes": 1, "channels": CHANNELS}.get(name, 3)
        for threads in (1, 2):
            with subtests.test(name, threads=threads):
                (found,) = kernel.run([x], {}, threads)
                assert np.abs(found.astype(np.float64) / exact - 1).max() <= allowed * ROUNDING


@cases("axes", [[0], [1], [0, 1]])
@cases("value", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_no_number_or_too_large_comes_out(
    value: float, axes: Sequence[int], cache: Store
) -> None:
    x = np.zeros((300, 400), np.float32)
    x[7, 9] = x[11, 9] = x[7, 13] = value
    kernel, *_ = prepare(lambda t: dsl.reduce_sum(t, axes), x, cache=cache)
    with np.errstate(over="ignore"):
        expected = x.sum(tuple(axes), dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(kernel.run([x], {}, 1)[0], expected)


@cases(
    "shape, axes, is_wide",
    [
        ((255, 64), [0], False),
        ((256, 64), [0], True),
        ((8, 255, 64), [1], False),
        ((8, 256, 64), [1], True),
        ((8, 1 << 14), [1], True),
        ((8, (1 << 14) - 1), [1], False),
    ],
)
def test_short_sums_stay_what_they_were(
    shape: tuple[int, ...], axes: Sequence[int], is_wide: bool
) -> None:
    x = dsl.placeholder(shape, "float32")
    text = write_program([dsl.reduce_sum(x, axes)], [x]).source
    assert ("wide_add" in text) == is_wide


@cases("make", [dsl.reduce_max, dsl.reduce_min, dsl.reduce_prod])
def test_other_reductions_use_no_wide_addition(make) -> None:
    x = dsl.placeholder((4096, 64), "float32")
    assert "wide_add" not in write_program([make(x, [0])], [x]).source
