"""Several rows at once, dynamic work sharing between threads, powers from a table.

Results do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tbe_impl.cpu.prepared_kernel import Options, prepare
from tbe_impl.dsl.expr import make_binary
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases

Array = np.ndarray[Any, Any]
ROWS, COLUMNS = 23, 37


def softmax(x: Tensor, y: Tensor) -> list[Tensor]:
    powers = OPERATIONS["vexp"](
        OPERATIONS["vsub"](
            x, OPERATIONS["broadcast"](OPERATIONS["reduce_max"](x, -1, True), x.shape)
        )
    )
    return [
        OPERATIONS["vdiv"](
            powers, OPERATIONS["broadcast"](OPERATIONS["reduce_sum"](powers, -1, True), x.shape)
        )
    ]


def np_softmax(x: Array, y: Array) -> list[Array]:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return [powers / powers.sum(-1, keepdims=True)]


def sums(x: Tensor, y: Tensor) -> list[Tensor]:
    """Sums of rows and of columns, and each row minus its sum."""
    total = OPERATIONS["reduce_sum"](x, -1, True)
    away = OPERATIONS["vsub"](x, OPERATIONS["broadcast"](total, x.shape))
    return [away, OPERATIONS["reduce_sum"](OPERATIONS["vmul"](away, y), 0, False)]


def np_sums(x: Array, y: Array) -> list[Array]:
    away = x - x.sum(-1, keepdims=True)
    return [away, (away * y).sum(0)]


def totals(x: Tensor, y: Tensor) -> list[Tensor]:
    return [OPERATIONS["reduce_sum"](OPERATIONS["vmul"](x, y), -1, False)]


CASES = {
    "softmax": (softmax, np_softmax),
    "sums": (sums, np_sums),
    "totals": (totals, lambda x, y: [(x * y).sum(-1)]),
}


def run(
    write: Callable[..., list[Tensor]], arrays: Sequence[Array], cache: Store, **options: Any
) -> tuple[str, tuple[Array, ...]]:
    x, y = (placeholder((ROWS, COLUMNS), "float32", name) for name in ("x", "y"))
    kernel = prepare(
        write(x, y), [x, y], options=Options(parallel_elements=0, **options), cache=cache
    )
    return kernel.source, kernel.run(list(arrays), {}, 2)


@pytest.fixture
def arrays() -> list[Array]:
    rng = np.random.default_rng(0)
    found = [rng.standard_normal((ROWS, COLUMNS)).astype(np.float32) for _ in range(2)]
    for array in found:
        array[-1] = array[0]  # one row of a block, and one of the tail
    return found


@cases("case", CASES)
@cases("together", [2, 4, 8], sample=1)
def test_rows_taken_together(case: str, together: int, arrays: list[Array], cache: Store) -> None:
    write, formula = CASES[case]
    source, found = run(write, arrays, cache, jam_factor=together)
    assert f"i0 += {together})" in source
    for one, wanted in zip(found, formula(*(a.astype(np.float64) for a in arrays)), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
        if wanted.shape[0] == ROWS:
            np.testing.assert_array_equal(one[0], one[-1])


ROWS_OF: dict[str, tuple[int, Callable[[Tensor], list[Tensor]], bool]] = {
    "sums of short rows": (64, lambda x: [OPERATIONS["reduce_sum"](x, -1, False)], True),
    "sums of longer ones": (65, lambda x: [OPERATIONS["reduce_sum"](x, -1, False)], False),
    "softmax of short rows": (10, lambda x: softmax(x, x), True),
    "softmax of longer ones": (80, lambda x: softmax(x, x), False),
    "beside sums of columns": (48, lambda x: sums(x, x), True),
    "short rows less a sum of long ones": (4096, lambda x: [_less_long_sums(x)], False),
    "one row": (64, lambda x: [OPERATIONS["reduce_sum"](x, (0, 1), False)], False),
}


def _less_long_sums(x: Tensor) -> Tensor:
    total = OPERATIONS["reduce_sum"](x, -1, True)
    return compute((ROWS, 8), lambda i, j: x[i, j] - total[i, 0])


@cases(
    "case",
    [
        pytest.param(
            case,
            marks=FULL
            if case
            in (
                "sums of short rows",
                "sums of longer ones",
                "softmax of longer ones",
                "beside sums of columns",
                "short rows less a sum of long ones",
                "one row",
            )
            else (),
        )
        for case in ROWS_OF
    ],
)
def test_short_rows_are_taken_together_unasked(case: str, cache: Store) -> None:
    columns, write, wanted = ROWS_OF[case]
    x = placeholder((ROWS, columns), "float32", "x")
    kernel = prepare(write(x), [x], options=Options(), cache=cache)
    assert ("i0 += 4)" in kernel.source) == wanted
    array = np.random.default_rng(1).standard_normal((ROWS, columns)).astype(np.float32)
    one = prepare(write(x), [x], options=Options(jam_factor=1), cache=cache)
    for found, expected in zip(kernel.run([array], {}, 1), one.run([array], {}, 1), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_a_loop_of_fewer_steps_stays_as_it_is(cache: Store) -> None:
    x = placeholder((3, COLUMNS), "float32", "x")
    total = OPERATIONS["reduce_sum"](x, -1, False)
    sources = [
        prepare([total], [x], options=Options(jam_factor=n), cache=cache).source for n in (1, 4)
    ]
    assert sources[0] == sources[1]


@cases("case", CASES)
@cases("portions", [1, 3, 64], sample=1)
def test_work_in_portions_gives_right_results(
    case: str, portions: int, arrays: list[Array], cache: Store
) -> None:
    write, formula = CASES[case]
    source, found = run(write, arrays, cache, portions=portions)
    assert f".portions = {portions}" in source
    for one, wanted in zip(found, formula(*(a.astype(np.float64) for a in arrays)), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def test_portions_of_a_full_sum(cache: Store) -> None:
    x = placeholder((5, 1000), "float32", "x")
    total = OPERATIONS["reduce_sum"](x, (0, 1), False)
    options = Options(parallel_elements=0, portions=7)
    kernel = prepare([total], [x], options=options, cache=cache)
    array = np.arange(5000, dtype=np.float32).reshape(5, 1000)
    for _ in range(20):
        np.testing.assert_array_equal(kernel.run([array], {}, 2)[0], np.float32(5000 * 4999 / 2))


@cases("together", [2, *(pytest.param(together, marks=FULL) for together in (1, 4))])
def test_steps_at_once_of_what_is_summed_up_over_another_loop(together: int, cache: Store) -> None:
    """The unrolled loop indexes the sum's own results: each step has its own element."""
    x = placeholder((5, 2, 8, 6), "float32")
    # the condition that separates the loops
    last = compute(x.shape, lambda a, b, c, d: x(a, make_binary("truncdiv", b, 3), c, d))
    kernel = prepare(
        [OPERATIONS["reduce_sum"](x, 0, True), last],
        [x],
        options=Options(jam_factor=together),
        cache=cache,
    )
    array = np.random.default_rng(0).standard_normal((5, 2, 8, 6)).astype(np.float32)
    total, more = kernel.run([array], {}, 1)
    np.testing.assert_allclose(
        total, array.astype(np.float64).sum(0, keepdims=True), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(more, array[:, [0, 0]])
