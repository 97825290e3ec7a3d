"""LayerNorm's gradient: row sums and sums over rows in one loop nest."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tbe_impl.codegen.program import write_program
from tbe_impl.dsl.expr import make_binary
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen import graphs
from tests.tbe_impl.codegen.graphs import run_both


def gradient(x: Tensor, dy: Tensor) -> list[Tensor]:
    """dx of Σ dy·(x − mean(x)) by rows, and Σ dy·(x − mean(x)) over rows."""
    mean = OPERATIONS["vmuls"](OPERATIONS["reduce_sum"](x, -1, True), 1 / 24)
    away = OPERATIONS["vsub"](x, OPERATIONS["broadcast"](mean, x.shape))
    product = OPERATIONS["vmul"](dy, away)
    return [
        OPERATIONS["vsub"](
            dy, OPERATIONS["broadcast"](OPERATIONS["reduce_sum"](product, -1, True), x.shape)
        ),
        OPERATIONS["reduce_sum"](product, 0, False),
    ]


@cases("rows", [40, *(pytest.param(rows, marks=FULL) for rows in (1, 5))])
def test_sums_over_rows_of_what_needs_the_rows_own_sums(rows: int, cache: Store) -> None:
    from tbe_impl.cpu.prepared_kernel import prepare

    inputs = [placeholder((rows, 24), "float32", name) for name in ("x", "dy")]
    outputs = gradient(*inputs)
    nests = re.findall(r"static void \w*nest\d+\(", write_program(outputs, inputs).source)
    assert len(nests) == 1 or rows == 1
    generator = np.random.default_rng(3)
    x, dy = (generator.standard_normal((rows, 24)).astype(np.float32) for _ in range(2))
    away = x.astype(np.float64) - x.astype(np.float64).mean(-1, keepdims=True)
    dx, total = prepare(outputs, inputs, cache=cache).run([x, dy], {}, 2)
    np.testing.assert_allclose(dx, dy - (dy * away).sum(-1, keepdims=True), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(total, (dy * away).sum(0), rtol=1e-5, atol=1e-5)


def test_a_sum_shares_a_nest_only_with_what_runs_over_its_loops(cache: Store) -> None:
    """Sums over rows of x and along rows of its transpose, an output that is read from memory."""

    def build(x: Tensor, y: Tensor) -> list[Tensor]:
        turned = OPERATIONS["transpose"](x)
        total = OPERATIONS["broadcast"](OPERATIONS["reduce_sum"](turned, -1, True), turned.shape)
        return [turned, OPERATIONS["vsub"](turned, total), OPERATIONS["vdiv"](y, y)]

    x, y = np.arange(792.0).reshape(24, 33), np.ones((24, 33), np.uint32)
    for found, wanted in run_both(build, x, y, cache=cache):
        np.testing.assert_array_equal(found, wanted)


def test_an_output_read_at_other_places_is_complete_before(cache: Store) -> None:
    def build(x: Tensor) -> list[Tensor]:
        total = OPERATIONS["reduce_sum"](x, 1, True)
        return [total, compute((8, 1), lambda i, j: total(make_binary("truncdiv", i, 3), j) + 1.0)]

    for found, wanted in run_both(build, np.arange(40.0).reshape(8, 5), cache=cache):
        np.testing.assert_array_equal(found, wanted)


def test_a_result_with_fewer_axes_beside_a_transpose_is_stored(cache: Store) -> None:
    """The transpose is tiled with its inner loop outside; the other result needs that loop."""

    def build(x: Tensor, y: Tensor) -> list[Tensor]:
        spread = OPERATIONS["vsub"](OPERATIONS["reduce_max"](x, 0), OPERATIONS["reduce_min"](x, 0))
        return [spread, OPERATIONS["vexp"](y), OPERATIONS["transpose"](x, (1, 2, 0))]

    x, y = np.arange(240.0).reshape(12, 5, 4) % 7, np.ones((5, 4))
    kernel, outputs, _ = graphs.prepare(build, x, y, cache=cache)
    results = [np.full([size.value for size in one.shape], 99.0) for one in outputs]
    found = kernel.run([x, y], {}, 1, results)
    wanted = [x.max(0) - x.min(0), np.exp(y), x.transpose(1, 2, 0)]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)


@cases("places", [200, pytest.param(8, marks=FULL)])
def test_sums_of_rows_are_complete_before_they_are_summed(places: int, cache: Store) -> None:
    """A sum over images of sums over positions: lanes an image apart would gather elements."""
    from tbe_impl.cpu.prepared_kernel import prepare

    x = placeholder((20, 3, places), "float32", "x")
    sums = OPERATIONS["reduce_sum"](x, -1, True)
    outputs = [
        OPERATIONS["reduce_sum"](sums, 0, True),
        OPERATIONS["vmul"](x, OPERATIONS["broadcast"](sums, x.shape)),
    ]
    assert ("gather" in write_program(outputs, [x]).source) == (places < 64)
    given = np.random.default_rng(4).standard_normal((20, 3, places)).astype(np.float32)
    whole, scaled = prepare(outputs, [x], cache=cache).run([given], {}, 2)
    by_row = given.astype(np.float64).sum(-1, keepdims=True)
    np.testing.assert_allclose(whole, by_row.sum(0, keepdims=True), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(scaled, given * by_row, rtol=1e-4, atol=1e-4)
