"""Buffered rows for the next loop hold every element of the row, or are not buffered."""

from __future__ import annotations

import numpy as np
import pytest

from tbe_impl.cpu.prepared_kernel import prepare
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases


@cases("columns", [21, *(pytest.param(columns, marks=FULL) for columns in (8, 16, 100))])
def test_what_is_the_same_for_a_whole_row(columns: int, cache: Store) -> None:
    x, z = placeholder((5, 1), "float32"), placeholder((5, columns), "float32")
    power = OPERATIONS["vexp"](OPERATIONS["broadcast"](x, (5, columns)))
    total = OPERATIONS["broadcast"](
        OPERATIONS["reduce_sum"](OPERATIONS["vmul"](power, z), 1, True), (5, columns)
    )
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((5, 1), (5, columns)))
    y = OPERATIONS["vadd"](OPERATIONS["vmul"](power, z), total)
    (found,) = prepare([y], [x, z], cache=cache).run([a, b], {}, 1)
    wanted = np.exp(a.astype(np.float64)) * b
    np.testing.assert_allclose(found, wanted + wanted.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)


def test_a_number_is_no_row(cache: Store) -> None:
    x = placeholder((), "float32")
    power = OPERATIONS["vexp"](x)
    outputs = [
        OPERATIONS["vadds"](OPERATIONS["broadcast"](power, (5,)), 1.0),
        OPERATIONS["vrec"](power),
    ]
    wide, one = prepare(outputs, [x], cache=cache).run([np.float32(1)], {}, 1)
    np.testing.assert_allclose(wide, [np.e + 1] * 5, rtol=1e-6)
    np.testing.assert_allclose(one, 1 / np.e, rtol=1e-6)


@cases("threads", [1, 2], sample=1)
@cases(
    "shape",
    [(5, 21), (3, 4, 33), *(pytest.param(shape, marks=FULL) for shape in ((9, 64), (2, 700)))],
)
def test_sums_of_all_rows_wait_for_each_rows_own_sum(
    shape: tuple[int, ...], threads: int, cache: Store
) -> None:
    x, last = placeholder(shape, "float32"), len(shape) - 1
    power = OPERATIONS["vexp"](x)
    total = OPERATIONS["broadcast"](OPERATIONS["reduce_sum"](power, last, True), shape)
    share = OPERATIONS["vdiv"](power, total)
    square = OPERATIONS["vmul"](share, share)
    everything = OPERATIONS["reduce_sum"](square, list(range(len(shape))), False)
    outputs = [
        everything,
        OPERATIONS["reduce_sum"](square, list(range(1, len(shape))), False),
        OPERATIONS["vsub"](share, total),
    ]
    array = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    found = prepare(outputs, [x], cache=cache).run([array], {}, threads)
    wide = np.exp(array.astype(np.float64))
    sums = wide.sum(-1, keepdims=True)
    squares = (wide / sums) ** 2
    wanted = (squares.sum(), squares.sum(tuple(range(1, len(shape)))), wide / sums - sums)
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5)
