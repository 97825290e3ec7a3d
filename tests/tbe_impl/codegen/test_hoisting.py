"""Hoisting: slow expressions that rows share are computed once, into memory."""

from __future__ import annotations

import re

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import prepare


def scaled(x: Tensor, v: Tensor) -> Tensor:
    return dsl.vmul(x, dsl.broadcast(dsl.vrsqrt(dsl.vadds(v, 1.0)), x.shape))


@cases("rows, nests", [(30, 2), (1, 1)])
def test_a_root_of_each_column_is_taken_once(rows: int, nests: int, cache: Store) -> None:
    random = np.random.default_rng(0)
    x, v = random.standard_normal((rows, 40), np.float32), random.random((1, 40), np.float32)
    kernel, *_ = prepare(scaled, x, v, cache=cache)
    assert len(re.findall(r"static void \w*nest\d+\(", kernel.source)) == nests
    (y,) = kernel.run([x, v], {}, 1)
    np.testing.assert_allclose(y, x / np.sqrt(v.astype(np.float64) + 1), rtol=1e-6)
