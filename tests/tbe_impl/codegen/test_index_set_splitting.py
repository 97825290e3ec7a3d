"""Index-set splitting at select boundaries: concat, pad, masks; right, without select in the C."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import write_program
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl import ext
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import const, make_binary, select
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, stages_of
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import assert_same, prepare, prepare_together, run_both

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
)
FEW_DTYPES = ("bfloat16", "float32", "int8", "int64")
PER_LANE = re.compile(r"gather_at\(|_select\((?!lanes_below)")


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Different values, as far as the dtype has them."""
    counted = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    return (counted % 3 == 0 if dtype == "bool" else counted % 120).astype(dtype_of(dtype).numpy)


def check(
    build: Callable[..., Any], arrays: list[np.ndarray], cache: Store, **options: Any
) -> None:
    """Raises unless both back ends agree, with one thread and with two."""
    for threads in (1, 2):
        for found, wanted in run_both(
            build, *arrays, cache=cache, threads=threads, parallel_elements=2, **options
        ):
            assert_same(found, wanted)


@cases(
    "axis, dtypes",
    [
        (2, FEW_DTYPES),
        (0, ("float16",)),
        *(pytest.param(axis, DTYPES, marks=FULL) for axis in range(3)),
    ],
)
def test_concat_of_every_dtype_along_every_axis(
    axis: int, dtypes: Sequence[str], cache: Store
) -> None:
    shapes = [
        tuple(size if k == axis else (3, 5, 19)[k] for k in range(3)) for size in (33, 1, 0, 16, 7)
    ]
    arrays = [numbers(shape, dtype) for dtype in dtypes for shape in shapes]

    def build(*xs: Tensor) -> list[Tensor]:
        return [dsl.concat(xs[k : k + 5], axis) for k in range(0, len(xs), 5)]

    check(build, arrays, cache)


@cases(
    "paddings, dtypes",
    [
        ([(0, 1), (40, 0)], FEW_DTYPES),
        *(
            pytest.param(paddings, DTYPES, marks=FULL)
            for paddings in ([(2, 3)], [(0, 1), (40, 0)], [(1, 2), (0, 0), (3, 17)])
        ),
    ],
)
def test_pad_of_every_dtype_on_every_side(
    paddings: list[tuple[int, int]], dtypes: Sequence[str], cache: Store
) -> None:
    arrays = [numbers((4, 5, 37)[-len(paddings) :], dtype) for dtype in dtypes]
    check(lambda *xs: [ext.pad(x, paddings, 1) for x in xs], arrays, cache)


@cases("dtypes", [("float32", "int8"), pytest.param(DTYPES, marks=FULL)])
def test_stacks_of_every_dtype_behind_the_last_axis(dtypes: Sequence[str], cache: Store) -> None:
    arrays = [numbers((3, 70, 1), dtype) for dtype in dtypes for _ in range(3)]
    arrays = [np.roll(array, k, axis=1) for k, array in enumerate(arrays)]

    def build(*xs: Tensor) -> list[Tensor]:
        return [dsl.concat(xs[k : k + 3], 2) for k in range(0, len(xs), 3)]

    check(build, arrays, cache)
    kernel, *_ = prepare(build, *arrays, cache=cache, parallel_elements=2)
    assert not PER_LANE.search(kernel.source)
    assert "f32_scatter(" in kernel.source


def shift(x: Tensor, by: int) -> Tensor:
    """x shifted along its last axis, with zeros at the end."""

    def body(*i: Any) -> Any:
        inside = make_binary("and", i[-1] - by >= 0, i[-1] - by < x.shape[-1])
        return select(inside, x(*i[:-1], i[-1] - by), const(0, x.dtype)) + x(*i)

    made: Tensor = compute(x.shape, body)
    return made


def mask(x: Tensor) -> Tensor:
    """x below its diagonal, −1 on it and above: the split position depends on the row."""
    made: Tensor = compute(x.shape, lambda i, j: select(j < i, x(i, j), const(-1.0, x.dtype)))
    return made


def every_third(x: Tensor) -> Tensor:
    """x where three times the index is small: a position that 3 does not divide."""
    made: Tensor = compute(x.shape, lambda i, j: select(j * 3 <= 50, x(i, j), x(i, j - 1) * 2.0))
    return made


def single(x: Tensor) -> Tensor:
    """One column of x exchanged, and no other."""
    made: Tensor = compute(
        x.shape, lambda i, j: select(make_binary("eq", j, 17), x(i, j - 17), x(i, j))
    )
    return made


def normal_rows(x: Tensor) -> Tensor:
    """Each row divided by its sum."""
    return dsl.vdiv(x, dsl.broadcast(dsl.reduce_sum(x, -1, True), x.shape))


CHAINS: dict[str, Callable[..., Any]] = {
    "computed before and after": lambda x, y: dsl.vadds(
        dsl.concat([dsl.vmuls(x, 2.0), dsl.vabs(y)], 1), 1.0
    ),
    "concat of concats": lambda x, y: dsl.concat([dsl.concat([x, y], 0), dsl.concat([y, x], 0)], 1),
    "pad of concat": lambda x, y: ext.pad(dsl.concat([x, y], 1), [(1, 0), (2, 3)], 5),
    "concat of pads": lambda x, y: dsl.concat(
        [ext.pad(x, [(0, 1), (2, 2)]), ext.pad(y, [(1, 0), (4, 0)])], 1
    ),
    "split of concat": lambda x, y: dsl.split(dsl.concat([x, y], 1), 1, [30, 44])[1],
    "stack before": lambda x, y: dsl.concat(
        [ext.reshape(x, [1, 9, 37]), ext.reshape(y, [1, 9, 37])], 0
    ),
    "stack behind": lambda x, y: dsl.concat(
        [ext.reshape(x, [9, 37, 1]), ext.reshape(y, [9, 37, 1])], 2
    ),
    "stack of sums": lambda x, y: dsl.concat(
        [dsl.reduce_sum(x, 1, True), dsl.reduce_max(y, 1, True)], 1
    ),
    "transposed": lambda x, y: dsl.concat([dsl.transpose(x), dsl.transpose(y)], 0),
    "transposed after": lambda x, y: dsl.transpose(dsl.concat([x, y], 1)),
    "repeated": lambda x, y: dsl.vadd(
        dsl.concat([x, y], 1), dsl.broadcast(dsl.reduce_max(y, 1, True), (9, 74))
    ),
    "row sums": lambda x, y: dsl.reduce_sum(dsl.concat([x, y], 1), 1),
    "column sums": lambda x, y: dsl.reduce_sum(dsl.concat([x, y], 0), 0),
    "sum of everything": lambda x, y: dsl.reduce_sum(
        ext.pad(dsl.concat([x, y], 0), [(2, 1), (0, 3)]), [0, 1]
    ),
    "sums beside rows": lambda x, y: dsl.concat(
        [dsl.reduce_sum(x, 1, True), y, dsl.reduce_max(y, 1, True)], 1
    ),
    "sums below rows": lambda x, y: dsl.concat(
        [dsl.reduce_sum(x, 0, True), y, dsl.reduce_max(y, 0, True)], 0
    ),
    "several outputs": lambda x, y: [
        dsl.concat([x, y], 1),
        dsl.concat([y, x], 1),
        dsl.concat([x, y], 0),
    ],
    "shifted": lambda x, y: dsl.vadd(shift(x, 3), shift(y, -2)),
    "sums below the diagonal": lambda x, y: dsl.reduce_sum(mask(dsl.vadd(x, y)), 1),
    "largest of what is below the diagonal": lambda x, y: dsl.reduce_max(mask(x), 0),
    "tiles": lambda x, y: dsl.vadds(ext.tile(x, [2, 3]), 1.0),
    "tiles of pads": lambda x, y: ext.tile(ext.pad(x, [(0, 1), (2, 0)]), [3, 2]),
    "pad of tiles": lambda x, y: ext.pad(ext.tile(y, [1, 4]), [(0, 1), (2, 0)]),
    "masked": lambda x, y: dsl.vadd(mask(x), y),
    "a place that is no whole number": lambda x, y: every_third(x),
    "one column": lambda x, y: single(x),
}


QUICK_CHAINS = (
    "concat of concats",
    "split of concat",
    "transposed after",
    "repeated",
    "row sums",
    "sums beside rows",
    "shifted",
    "largest of what is below the diagonal",
    "tiles of pads",
    "one column",
)
QUICK_UNROLLED = ("pad of concat", "sum of everything", "masked")
"""Chains that `make test` unrolls by several vectors."""


@cases("options", [{}, {"unroll": 2, "stream_bytes": 64}], per_item=1)
def test_chains_equal_the_numpy_back_end(
    options: dict[str, int], full: bool, cache: Store, subtests: pytest.Subtests
) -> None:
    names = CHAINS if full else QUICK_UNROLLED if options else QUICK_CHAINS
    rng = np.random.default_rng(1)
    x, y = (np.round(rng.uniform(-9, 9, (9, 37))).astype(np.float32) for _ in range(2))
    made = prepare_together(
        [(CHAINS[name], [x, y]) for name in names],
        cache=cache,
        name="chain",
        parallel_elements=2,
        **options,
    )
    for name, (kernel, outputs, inputs) in zip(names, made, strict=True):
        given = {id(tensor): array for tensor, array in zip(inputs, (x, y), strict=True)}
        with subtests.test(name):
            wanted = evaluate.run(outputs, given)
            for threads in (1, 2):
                for found, right in zip(kernel.run([x, y], {}, threads), wanted, strict=True):
                    assert_same(found, right)


@cases("columns", [(21, 43), pytest.param((64, 64), marks=FULL), pytest.param((1, 63), marks=FULL)])
def test_pieces_that_are_written_past_the_caches_begin_anywhere(
    columns: tuple[int, int], cache: Store
) -> None:
    arrays = [numbers((8, width), "float32") for width in columns]

    def build(x: Tensor, y: Tensor) -> Tensor:
        return dsl.vadds(dsl.concat([x, y], 1), 1.0)

    kernel, *_ = prepare(build, *arrays, cache=cache, stream_bytes=64)
    assert "f32_stream(" in kernel.source
    check(build, arrays, cache, stream_bytes=64)
    flat = [array.reshape(-1) for array in arrays]
    check(lambda x, y: dsl.concat([x, y, x], 0), flat, cache, stream_bytes=64)


def test_functions_that_are_kept_for_a_row_come_out_whole(cache: Store) -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal((6, 40)).astype(np.float32) for _ in range(2))

    def build(a: Tensor, b: Tensor) -> Tensor:
        return normal_rows(dsl.vexp(dsl.concat([a, dsl.vexp(b)], 1)))

    for found, wanted in run_both(build, x, y, cache=cache):
        np.testing.assert_allclose(found, wanted, rtol=2e-6)


N, M, K = (dsl.var(name) for name in "nmk")
X, Y = placeholder((N, K), "float32", "x"), placeholder((M, K), "float32", "y")
Z = placeholder((N, M), "float32", "z")
DYNAMIC = {
    "along the first": [dsl.vadds(dsl.concat([X, Y, X], 0), 1.0)],
    "along the last": [dsl.concat([X, Z, dsl.vexp(X)], 1)],
    "pad": [ext.pad(X, [(1, 2), (3, 0)], 4.0)],
    "half of it": [ext.pad(compute((N, K // 2), lambda i, j: X(i, j * 2)), [(0, 0), (1, 1)])],
    "row sums": [dsl.reduce_sum(dsl.concat([X, Z], 1), 1)],
}


@cases(
    "name",
    [
        pytest.param(
            name, marks=FULL if name in ("along the first", "along the last", "pad") else ()
        )
        for name in DYNAMIC
    ],
)
def test_sizes_of_run_time(name: str, cache: Store) -> None:
    outputs = DYNAMIC[name]
    read = [tensor for op in stages_of(outputs) for tensor in op.outputs]
    inputs = [t for t in (X, Y, Z) if any(t is item for item in read)]
    kernel = prepared_kernel.prepare(
        outputs, inputs, cache=cache, options=Options(parallel_elements=2)
    )
    assert not PER_LANE.search(kernel.source)
    for n, m, k in ((1, 1, 1), (5, 7, 33), (40, 3, 16), (3, 70, 0)):
        values = {id(N): n, id(M): m, id(K): k}
        known = {id(X): (n, k), id(Y): (m, k), id(Z): (n, m)}
        arrays = [numbers(known[id(t)], "float32") / 16 for t in inputs]
        given = {id(t): array for t, array in zip(inputs, arrays, strict=True)}
        wanted = evaluate.run(outputs, given, values)
        for threads in (1, 2):
            found = kernel.run(arrays, values, threads)
            np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)


@cases("axis", [0, 1, 2])
def test_the_loops_of_concat_and_pad_ask_nothing(axis: int) -> None:
    x, square = placeholder((8, 6, 50), "float32"), placeholder((50, 50), "float32")
    one_side = [(3, 2) if k == axis else (0, 0) for k in range(3)]
    graphs = [
        (dsl.vadds(dsl.concat([dsl.vabs(x), x, x], axis), 1.0), x),
        (ext.pad(x, one_side), x),
        (ext.pad(x, [(1, 1)] * 3), x),
        (shift(x, 3), x),
        (ext.tile(x, [1, 3, 2]), x),
        (mask(square), square),
    ]
    for made, given in graphs:
        source = write_program([made], [given]).source
        assert re.search(r"i\d \+ LANES <=", source)
        assert not PER_LANE.search(source)
