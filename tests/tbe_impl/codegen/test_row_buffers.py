"""Row buffers between loops: every reader runs after the loop that fills the buffer."""

from __future__ import annotations

import numpy as np
import pytest

from tbe_impl import dsl
from tbe_impl.arguments import Argument
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.passes.prefetching import PREFETCH_DISTANCE_BYTES
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.kernel import Kernel
from tests.cases import FULL, cases


def _softmax(x: Tensor, axis: int) -> Tensor:
    shape = [int(size) for size in x.shape]
    largest = dsl.broadcast(dsl.reduce_max(x, [axis], keepdims=True), shape)
    powers = dsl.vexp(dsl.vsub(x, largest))
    return dsl.vdiv(powers, dsl.broadcast(dsl.reduce_sum(powers, [axis], keepdims=True), shape))


@cases("dtype", ["float32", "float64"], sample=1)
@cases(
    "shape, axes",
    [
        ((4, 8), [0, 1]),
        ((5, 33), [0, 1]),
        ((3, 4, 70), [1, 2]),
        ((3, 4, 70), [0, 1, 2]),
        ((3, 4, 70), [0, 2]),
    ],
)
def test_sums_over_rows_that_were_made_of_their_own_sums(
    shape: tuple[int, ...], axes: list[int], dtype: str
) -> None:
    x = dsl.placeholder(shape, dtype, "x")
    shares = _softmax(x, len(shape) - 1)
    total = dsl.reduce_sum(dsl.vmul(shares, shares), axes, keepdims=True)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    kernel = Kernel(
        "sum_of_shares", "cpu", (Argument(x, shape, "x"),), (Argument(total, kept, "total"),)
    )
    given = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    powers = np.exp(given.astype(np.float64))
    wanted = np.square(powers / powers.sum(-1, keepdims=True)).sum(tuple(axes), keepdims=True)
    np.testing.assert_allclose(kernel(given), wanted, rtol=1e-5)


@cases("prefetch", [True, False])
def test_the_loop_that_keeps_a_row_asks_memory_for_later_rows(prefetch: bool) -> None:
    """It reads memory last; there are enough rows to hide the latency."""
    x = dsl.placeholder((64, 512), "float32", "x")
    argument = Argument(x, (64, 512), "x")
    shares = Argument(_softmax(x, 1), (64, 512), "shares")
    options = Options(prefetch=prefetch)
    source = Kernel("shares", "cpu", (argument,), (shares,), options=options).source
    lines = [line.strip() for line in source.splitlines()]
    fetched = [number for number, line in enumerate(lines) if line.startswith("fetch(")]
    assert bool(fetched) == prefetch
    for number in fetched:
        assert f"INT64_C({PREFETCH_DISTANCE_BYTES // 4})" in lines[number]
        assert any("f32_store(row" in line for line in lines[number : number + 6])


@cases("dtype", ["float32", *(pytest.param(dtype, marks=FULL) for dtype in ("float64", "float16"))])
def test_rows_behind_a_line_are_summed_from_the_next_one(dtype: str) -> None:
    """One order for any position."""
    shape = (5, 1024)
    x = dsl.placeholder(shape, dtype, "x")
    kernel = Kernel(
        "shares",
        "cpu",
        (Argument(x, shape, "x"),),
        (Argument(_softmax(x, 1), shape, "shares"),),
        options=Options(offset=16, stream_bytes=0),
    )
    assert f"{48 // np.dtype(dtype).itemsize} % LANES" in kernel.source
    given = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    powers = np.exp(given.astype(np.float64))
    wanted, found = powers / powers.sum(1, keepdims=True), []
    for offset in (0, 16, 48):
        room = np.zeros(given.nbytes + 128, np.uint8)
        begin = -room.ctypes.data % 64 + offset
        there = room[begin : begin + given.nbytes].view(dtype).reshape(shape)
        there[...] = given
        found.append(kernel(there))
    np.testing.assert_allclose(found[0], wanted, rtol=4e-3 if dtype == "float16" else 1e-5)
    assert all(np.array_equal(found[0], one) for one in found)


def _normed(operations: int, columns: int = 512) -> tuple[Kernel, np.ndarray, np.ndarray]:
    """A normalised row of this many operations; its input, and the float64 result."""
    x = dsl.placeholder((7, columns), "float32", "x")
    row = x
    for number in range(operations):
        row = dsl.vmuls(row, 0.5) if number % 2 else dsl.vadds(row, 0.25)
    largest = dsl.broadcast(dsl.reduce_max(row, [1], keepdims=True), [7, columns])
    away = dsl.vsub(row, largest)
    kernel = Kernel(
        "away", "cpu", (Argument(x, (7, columns), "x"),), (Argument(away, (7, columns), "away"),)
    )
    given = np.random.default_rng(0).standard_normal((7, columns)).astype("float32")
    wanted = given.astype(np.float64)
    for number in range(operations):
        wanted = wanted * 0.5 if number % 2 else wanted + 0.25
    return kernel, given, wanted - wanted.max(1, keepdims=True)


@cases("operations, times", [(1, 6), (4, 5), (40, 1)])
def test_a_row_of_many_operations_is_computed_once(operations: int, times: int) -> None:
    """Filled by the first loop, which unrolls by four vectors where that is faster; a short one
    also by the second.
    """
    kernel, given, wanted = _normed(operations)
    np.testing.assert_allclose(kernel(given), wanted, rtol=1e-5, atol=1e-6)
    assert ("_store(row" in kernel.source) == (operations > 1)
    assert kernel.source.count("f32_load(p0 ") == times


@cases("columns, number", [(512, 1), (16384, 4)])
def test_a_row_whose_steps_take_long_has_one_accumulator(columns: int, number: int) -> None:
    """It depends on no sum; very long rows keep separate sums, because sums of fewer values lose
    less.
    """
    kernel, given, wanted = _normed(40, columns)
    np.testing.assert_allclose(kernel(given), wanted, rtol=1e-5, atol=1e-6)
    assert kernel.source.count(" = SPLAT(f32v, -__builtin_inff())") == number
