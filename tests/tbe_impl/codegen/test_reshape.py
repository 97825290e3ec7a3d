"""A reshape of a stored value is read in place, without a division for each element."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl import ext
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import assert_same, prepare_together

CASES: dict[str, Callable[..., Any]] = {
    "merged": lambda x: ext.reshape(x, [-1]),
    "split": lambda x: ext.reshape(x, [6, 4, 5, 3, 2]),
    "other rows": lambda x: dsl.vadds(ext.reshape(x, [8, 90]), 1.0),
    "of what is computed": lambda x: dsl.vmuls(ext.reshape(dsl.vabs(x), [15, 48]), 2.0),
    "twice": lambda x: ext.reshape(dsl.vadds(ext.reshape(x, [9, 80]), 1.0), [40, 18]),
    "of a transpose": lambda x: ext.reshape(dsl.transpose(x, [2, 0, 1]), [12, 60]),
    "transposed": lambda x: dsl.transpose(ext.reshape(x, [24, 5, 6]), [1, 0, 2]),
    "ones among the sizes": lambda x: dsl.vadds(
        ext.reshape(ext.reshape(x, [24, 1, 30, 1]), [1, 36, 20]), 3.0
    ),
    "reduced": lambda x: dsl.reduce_max(ext.reshape(x, [40, 18]), 1),
    "beside itself": lambda x: dsl.concat(
        [ext.reshape(x, [12, 60]), ext.reshape(dsl.vabs(x), [12, 60])], 1
    ),
    "an output too": lambda x: [dsl.vabs(x), ext.reshape(dsl.vabs(x), [12, 60])],
    "padded": lambda x: ext.pad(ext.reshape(x, [8, 90]), [(1, 0), (2, 3)]),
}


@cases("rounding", ["accurate", "device"])
def test_reshape(rounding: str, full: bool, cache: Store, subtests: pytest.Subtests) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (4, 6, 30)).astype(np.float32)
    names = [*CASES] if full else [*CASES][1::2] if rounding == "accurate" else ["twice"]
    made = prepare_together(
        [(CASES[name], [x]) for name in names],
        cache=cache,
        name="reshape",
        rounding=rounding,
        parallel_elements=0,
    )
    for name, (kernel, outputs, inputs) in zip(names, made, strict=True):
        with subtests.test(name):
            wanted = evaluate.run(outputs, {id(inputs[0]): x}, rounding=rounding)
            for threads in (1, 2):
                for found, right in zip(kernel.run([x], {}, threads), wanted, strict=True):
                    assert_same(found, right)
            assert not re.search(r"gather_at|floordiv|floormod", kernel.source)


def test_sizes_of_run_time(cache: Store) -> None:
    n, m = dsl.var("n"), dsl.var("m")
    x = placeholder((n, m), "float32", "x")
    outputs = [dsl.vadds(ext.reshape(x, [m, n]), 1.0), ext.reshape(x, [2, -1])]
    kernel = prepared_kernel.prepare(outputs, [x], cache=cache)
    assert not re.search(r"gather_at|floordiv|floormod", kernel.source)
    for rows, columns in ((4, 35), (1, 2), (30, 3)):
        array = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        found = kernel.run([array], {id(n): rows, id(m): columns}, 1)
        np.testing.assert_array_equal(found[0], array.reshape(columns, rows) + 1)
        np.testing.assert_array_equal(found[1], array.reshape(2, -1))


@cases("late", [False, True])
def test_the_same_shape_is_no_copy(late: bool, cache: Store) -> None:
    rows: Any = dsl.var("n") if late else 6
    x = placeholder((rows, 50), "float32")
    total = dsl.reduce_sum(ext.reshape(dsl.vexp(x), (rows, 50)), 1)
    y = dsl.vsub(x, dsl.broadcast(ext.reshape(ext.reshape(total, (rows,)), (rows, 1)), x.shape))
    kernel = prepared_kernel.prepare([y], [x], cache=cache)
    assert "aligned_alloc" not in kernel.source
    given = np.random.default_rng(0).uniform(-1, 1, (6, 50)).astype(np.float32)
    (found,) = kernel.run([given], {id(rows): 6}, 1)
    wanted = given - np.exp(given.astype(np.float64)).sum(1, keepdims=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_known_axes_beside_one_of_run_time(cache: Store) -> None:
    n = dsl.var("n")
    x = placeholder((n, 6, 5), "float32", "x")
    middle = dsl.reduce_sum(ext.reshape(x, [n, 2, 3, 5]), [2, 3], keepdims=True)
    whole = ext.reshape(dsl.broadcast(middle, [n, 2, 3, 1]), [n, 6, 1])
    kernel = prepared_kernel.prepare(
        [dsl.vsub(x, dsl.broadcast(whole, [n, 6, 5]))], [x], cache=cache
    )
    assert not re.search(r"gather_at|i64_floor", kernel.source)
    array = np.random.default_rng(0).integers(-9, 9, (4, 6, 5)).astype(np.float32)
    (found,) = kernel.run([array], {id(n): 4}, 1)
    wanted = array.reshape(4, 2, 15) - array.reshape(4, 2, 15).sum(2, keepdims=True)
    np.testing.assert_array_equal(found.reshape(4, 2, 15), wanted)
