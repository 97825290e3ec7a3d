"""Cumulative sums and products in C against NumPy: every dtype, axis, direction; bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl import ext
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import assert_same, prepare
from tests.tbe_impl.codegen.test_scatter import DTYPES, numbers

SHAPES = (
    (1, 5, 1),
    (19, 1, 1),
    (19, 1300, 1),
    (8, 7, 1),
    (3, 4, 1100),
    (2, 600, 3),
    (0, 4, 1),
    (4, 0, 2),
    (1, 1, 1),
    (2, 9, 512),
)
ENDS = [(False, False), (True, False), (False, True), (True, True)]


def same(
    kernel: prepared_kernel.CpuKernel, outputs: Sequence[Any], x: np.ndarray, sizes: dict[int, Any]
) -> None:
    """Raises unless both back ends agree for any number of threads, without a NumPy step."""
    assert len(kernel.programs) == len(kernel.sequence.steps)
    wanted = evaluate.run(outputs, {id(kernel.inputs[0]): x}, sizes)
    for threads in (1, 3):
        for one, other in zip(kernel.run([x], sizes, threads), wanted, strict=True):
            assert_same(one, other)


@cases(
    "dtype",
    [pytest.param(dtype, marks=() if dtype in ("bfloat16",) else FULL) for dtype in DTYPES],
)
def test_running_sums_of_every_dtype(dtype: str, cache: Store) -> None:
    number = DTYPES.index(dtype)
    word = ext.cumprod if number % 3 == 2 else ext.cumsum

    def build(x: Any) -> Any:
        return word(x, number % 2, *ENDS[number % 4])

    x = numbers((9, 37), dtype, 3)
    kernel, outputs, _ = prepare(build, x, cache=cache, parallel_elements=0)
    same(kernel, outputs, x, {})


@cases(
    "ends",
    [(True, False), (False, True), *(pytest.param(ends, marks=FULL) for ends in ENDS[::3])],
    ids=str,
)
def test_running_sums_of_every_shape(ends: tuple[bool, bool], cache: Store) -> None:
    sizes = [dsl.var(name) for name in "abc"]
    x = dsl.placeholder(tuple(sizes), "float32")
    outputs = [ext.cumsum(x, 1, *ends)]
    kernel = prepared_kernel.prepare(
        outputs, [x], options=Options(parallel_elements=0), cache=cache
    )
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        given = rng.uniform(-1, 1, shape).astype(np.float32)
        given[rng.random(shape) < 0.1] = -0.0
        same(kernel, outputs, given, {id(s): n for s, n in zip(sizes, shape, strict=True)})


def test_zeros_keep_their_sign(cache: Store) -> None:
    x = np.array([[-0.0, -0.0, 0.0, -0.0], [-0.0, -0.0, -0.0, 1.0]], np.float32)
    kernel, outputs, _ = prepare(lambda t: ext.cumsum(t, 1), x, cache=cache)
    same(kernel, outputs, x, {})


def test_first_axis_and_last(cache: Store) -> None:
    x = numbers((5, 6, 7), "float32", 1)
    kernel, outputs, _ = prepare(lambda t: [ext.cumsum(t, 0), ext.cumprod(t, 2)], x, cache=cache)
    same(kernel, outputs, x, {})
