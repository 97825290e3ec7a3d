"""Recognises exp(x − rowmax); softmax is right for unusual rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.passes.softmax_exponentials import (
    find_softmax_exponentials,
    find_softmax_quotients,
)
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import compute, reduce_axis
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import prepare

vadd, vsub, vexp, vmuls, vdiv = (OPERATIONS[name] for name in "vadd vsub vexp vmuls vdiv".split())
broadcast, reduce_max, reduce_min, reduce_sum = (
    OPERATIONS[name] for name in "broadcast reduce_max reduce_min reduce_sum".split()
)
Tensor = dsl.Tensor


def less(x: Tensor, row: Tensor) -> Tensor:
    return vsub(x, broadcast(row, x.shape))


def softmax(x: Tensor, axis: int | tuple[int, ...] = -1) -> Tensor:
    powers = vexp(less(x, reduce_max(x, axis, True)))
    return vdiv(powers, broadcast(reduce_sum(powers, axis, True), x.shape))


def of_a_part(x: Tensor) -> Tensor:
    """The maximum of the first half of a row does not bound the others."""
    k = reduce_axis((0, 4), "k")
    largest = compute((4, 1), lambda i, j: Reduce("max", x[i, k], [k]))
    return vexp(less(x, largest))


def of_another_row(x: Tensor) -> Tensor:
    largest = reduce_max(x, -1, True)
    return vexp(compute((4, 8), lambda i, j: x[i, j] - largest[3 - i, 0]))


CASES: dict[str, tuple[Callable[[Tensor], Tensor], int]] = {
    "softmax": (softmax, 1),
    "softmax over columns": (lambda x: softmax(x, 0), 1),
    "softmax over everything": (lambda x: softmax(x, (0, 1)), 1),
    "softmax of what was computed": (lambda x: softmax(vmuls(x, 0.125)), 1),
    "the largest of another tensor": (
        lambda x: vexp(less(x, reduce_max(vmuls(x, 0.5), -1, True))),
        0,
    ),
    "less the smallest": (lambda x: vexp(less(x, reduce_min(x, -1, True))), 0),
    "more than the largest": (
        lambda x: vexp(vadd(x, broadcast(reduce_max(x, -1, True), x.shape))),
        0,
    ),
    "turned round": (lambda x: vexp(vsub(broadcast(reduce_max(x, -1, True), x.shape), x)), 0),
    "the largest of a part": (of_a_part, 0),
    "the largest of another row": (of_another_row, 0),
    "a plain exponential": (vexp, 0),
}


@cases("case", CASES)
def test_deficits_are_known(case: str) -> None:
    build, wanted = CASES[case]
    assert len(find_softmax_exponentials([build(dsl.placeholder((4, 8), "float32"))])) == wanted


@cases("case", CASES)
def test_what_may_be_a_product_with_an_inverse(case: str) -> None:
    """Counts the short exponentials of softmax only."""
    outputs = [CASES[case][0](dsl.placeholder((4, 8), "float32"))]
    assert len(find_softmax_quotients(outputs)) == case.startswith("softmax")


def test_a_quotient_by_anything_small(cache: Store) -> None:
    """The inverse may be infinite where the quotient is finite."""

    def over(x: Tensor, y: Tensor) -> Tensor:
        powers = vexp(less(x, reduce_max(x, -1, True)))
        return vdiv(powers, broadcast(y, x.shape))

    x = np.linspace(-1, 0, 6 * 64, dtype=np.float32).reshape(6, 64)
    x = np.where(np.arange(64) % 3, x - 90, x).astype(np.float32)
    y = np.array([[1.0], [0.0], [1e-39], [3e38], [np.inf], [np.nan]], np.float32)
    kernel, _, _ = prepare(over, x, y, cache=cache)
    assert "f32_nearly_over(" in kernel.source
    (found,) = kernel.run([x, y], {}, 1)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        wanted = (np.exp(wide - wide.max(-1, keepdims=True)) / y).astype(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=3e-45)


@cases("columns", [5, 100, *(pytest.param(columns, marks=FULL) for columns in (16, 1024))])
def test_softmax_of_odd_rows(columns: int, cache: Store) -> None:
    generator = np.random.default_rng(columns)
    x = (generator.standard_normal((12, columns)) * 4).astype(np.float32)
    x[1] *= 1e30
    x[2, ::2] = -np.inf
    x[3, 1:] = -np.inf
    x[4, 1] = np.nan
    x[5, 0] = np.inf
    x[6] = -np.inf
    x[7] = -3e38
    x[8] = np.linspace(-120, 0, columns)
    x[9] += 1e6
    x[10] = 0
    kernel, _, _ = prepare(softmax, x, cache=cache)
    assert "f32_exp_of_deficit(" in kernel.source
    (found,) = kernel.run([x], {}, 1)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        powers = np.exp(wide - wide.max(-1, keepdims=True))
        wanted = powers / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=3e-45)
    assert np.array_equal(found == 0, wanted.astype(np.float32) == 0)
