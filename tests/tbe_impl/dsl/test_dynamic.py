"""Dynamic sizes pass through every DSL operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.interpreter.evaluate import run
from tests.cases import cases

ROWS, COLUMNS = 5, 8
E = dsl.ext

CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "vadd": (lambda x, n, m: dsl.vadd(x, x), lambda x: x + x),
    "vmuls by a var": (lambda x, n, m: dsl.vmuls(x, n), lambda x: x * ROWS),
    "cast_to": (lambda x, n, m: dsl.cast_to(x, "int32"), np.trunc),
    "vcmp": (lambda x, n, m: dsl.vcmp(x, 0.0, "gt"), lambda x: x > 0),
    "vsel of bits": (
        lambda x, n, m: dsl.vsel(dsl.vcmp(x, 0.0, "gt", "bit"), x, 0.0),
        lambda x: np.maximum(x, 0),
    ),
    "vcmpsel": (lambda x, n, m: dsl.vcmpsel(x, 0.0, "gt", x, 1.0), lambda x: np.where(x > 0, x, 1)),
    "reduce_sum": (lambda x, n, m: dsl.reduce_sum(x, 0), lambda x: x.sum(0)),
    "reduce_max": (lambda x, n, m: dsl.reduce_max(x, [0, 1]), lambda x: x.max().reshape(1)),
    "reduce_mean": (
        lambda x, n, m: dsl.reduce_mean(x, 1, True),
        lambda x: x.mean(1, keepdims=True),
    ),
    "broadcast": (
        lambda x, n, m: dsl.broadcast(dsl.reduce_max(x, 1, True), (n, m)),
        lambda x: np.repeat(x.max(1, keepdims=True), COLUMNS, 1),
    ),
    "broadcast of a scalar": (
        lambda x, n, m: dsl.broadcast(2.0, [n, 3], "float32"),
        lambda x: np.full((ROWS, 3), 2.0),
    ),
    "transpose": (lambda x, n, m: dsl.transpose(x, [1, 0]), np.transpose),
    "concat": (lambda x, n, m: dsl.concat([x, x], 0), lambda x: np.concatenate([x, x])),
    "split": (lambda x, n, m: dsl.split(x, 0, [2, n - 2])[1][1], lambda x: x[2:]),
    "set_value": (
        lambda x, n, m: dsl.set_value(x, lambda i, j: i < n - 1, 3.0),
        lambda x: np.concatenate([x[:-1] * 0 + 3, x[-1:]]),
    ),
    "gather": (
        lambda x, n, m: dsl.gather(x, dsl.cast_to(dsl.broadcast(1, [3]), "int32")),
        lambda x: x[[1, 1, 1]],
    ),
    "inplace_add": (
        lambda x, n, m: dsl.inplace_add(x, [0], dsl.broadcast(1.0, [1, m], "float32")),
        lambda x: np.concatenate([x[:1] + 1, x[1:]]),
    ),
    "unsorted_segment_sum": (
        lambda x, n, m: dsl.unsorted_segment_sum(x, E.iota((n,), 0), n + 1, 4),
        lambda x: np.concatenate([x, x[:1] * 0 + 4]),
    ),
    "matmul": (
        lambda x, n, m: dsl.matmul(x, x, False, True, dst_dtype="float32"),
        lambda x: x @ x.T,
    ),
    "reduce_window": (
        lambda x, n, m: dsl.reduce_window(x, "MAX", [0], [2], [2], None, "SAME"),
        lambda x: np.stack([x[0:2].max(0), x[2:4].max(0), x[4]]),
    ),
    "reshape": (lambda x, n, m: E.reshape(x, (n * m,)), np.ravel),
    "reshape by -1": (lambda x, n, m: E.reshape(x, (-1, 1)), lambda x: x.reshape(-1, 1)),
    "reshape of what is known": (
        lambda x, n, m: E.reshape(dsl.concat([x, x], 1), (n, 2, 1, m)),
        lambda x: np.stack([x, x], 1)[:, :, None],
    ),
    "strided_slice": (
        lambda x, n, m: E.strided_slice(x, [1, None], [n, None], [2, -1]),
        lambda x: x[1::2, ::-1],
    ),
    "pad": (lambda x, n, m: E.pad(x, [(1, 0), (0, 2)]), lambda x: np.pad(x, [(1, 0), (0, 2)])),
    "reverse": (lambda x, n, m: E.reverse(x, 0), lambda x: x[::-1]),
    "tile": (lambda x, n, m: E.tile(x, (2, 1)), lambda x: np.tile(x, (2, 1))),
    "iota": (
        lambda x, n, m: E.iota((n, 2), 0),
        lambda x: np.repeat(np.arange(ROWS)[:, None], 2, 1),
    ),
    "cumsum": (lambda x, n, m: E.cumsum(x, 1), lambda x: np.cumsum(x, 1)),
    "argmax": (lambda x, n, m: E.argmax(x, 1), lambda x: x.argmax(1)),
    "tanh": (lambda x, n, m: E.tanh(x), np.tanh),
}


@cases("case", CASES)
@cases("bodies", [False, True])
def test_sizes_at_run_time(case: str, bodies: bool) -> None:
    build, oracle = CASES[case]
    n, m = dsl.var("n", "int32", (1, None)), dsl.var("m")
    x = dsl.placeholder((n, m), "float32", "x")
    given = np.random.default_rng(0).uniform(-3, 3, (ROWS, COLUMNS)).astype(np.float32)
    (found,) = run([build(x, n, m)], {id(x): given}, {id(n): ROWS, id(m): COLUMNS}, bodies=bodies)
    np.testing.assert_allclose(found, oracle(given), rtol=1e-5, atol=1e-6)


@cases("size", [1, 3])
@cases("bodies", [False, True])
def test_a_size_may_turn_out_to_be_1(size: int, bodies: bool) -> None:
    n, m = dsl.var("n"), dsl.var("m")
    x = dsl.placeholder((n, 4), "float32", "x")
    given = np.arange(size * 4, dtype=np.float32).reshape(size, 4)
    (found,) = run(
        [dsl.broadcast(x, (m, 4))], {id(x): given}, {id(n): size, id(m): 3}, bodies=bodies
    )
    np.testing.assert_array_equal(found, np.broadcast_to(given, (3, 4)))
    assert dsl.broadcast(x, (n, 4)) is x
