"""Reductions over no axes, as in gradients of a broadcast without expansion."""

from __future__ import annotations

from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import assert_same, run_both

WORDS = (dsl.reduce_sum, dsl.reduce_prod, dsl.reduce_max, dsl.reduce_min, dsl.reduce_mean)


@cases("keepdims", [False, True], sample=2)
@cases("shape", [(), (1,), (7,), (3, 80), (4, 1, 130)])
@cases("dtype", ["float16", "float32", "int32"])
def test_what_is_reduced_over_no_axes_stays(
    dtype: str, shape: tuple[int, ...], keepdims: bool, cache: Store
) -> None:
    def build(x: Any) -> list[Any]:
        twice = dsl.vadd(x, x)
        sums = dsl.tuple_sum([x, twice], [], keepdims)
        return [*sums, *(dsl.vmul(made := word(twice, [], keepdims), made) for word in WORDS)]

    x = np.asarray(np.random.default_rng(0).integers(-9, 9, shape)).astype(dtype)
    wanted = [np.asarray(y, dtype) for y in (x, 2 * x, *[4 * x * x] * len(WORDS))]
    for (found, other), right in zip(run_both(build, x, cache=cache), wanted, strict=True):
        assert_same(found, right if keepdims or shape else right.reshape(1))
        assert_same(other, found)
