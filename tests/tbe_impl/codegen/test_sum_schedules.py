"""Manual schedules of reductions: requests, shapes and dtypes against float64, and the C loops."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tbe_impl.codegen.nest_text import show_nests
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import layout_of, write_program
from tbe_impl.codegen.schedule_compliance import outcomes
from tbe_impl.codegen.schedule_options import options_of, outputs_of
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tbe_impl.scheduling.schedule import create_schedule
from tbe_impl.scheduling.stage_schedule import Stage
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.random_schedules import random_schedule
from tests.tbe_impl.codegen.test_loop_ir import run_in_versions
from tests.tbe_impl.tolerances import assert_close

Ask = Callable[[Stage], Any]
ROUNDS = int(os.environ.get("TBE_FUZZ", "0")) or 3
NUMPY = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def blocks(y: Stage) -> None:
    y.split(y.op.reduce_axis[0], factor=32)


def parts_of_parts(y: Stage) -> None:
    outer, inner = y.split(y.op.reduce_axis[0], nparts=3)
    y.split(inner, factor=5)
    y.unroll(outer)


def sums_outside(y: Stage) -> None:
    y.reorder(*y.op.reduce_axis, *y.op.axis)


def blocks_outside(y: Stage) -> None:
    i, *rest = y.op.axis
    i_outer, i_inner = y.split(i, factor=8)
    k_outer, k_inner = y.split(y.op.reduce_axis[0], factor=16)
    y.reorder(i_outer, k_outer, i_inner, *rest, k_inner)
    y.parallel(i_outer)


def steps_outside(y: Stage) -> None:
    i, *rest = y.op.axis
    k_outer, k_inner = y.split(y.op.reduce_axis[0], factor=7)
    y.reorder(k_inner, i, k_outer, *rest)


def tiles(y: Stage) -> None:
    j_outer, j_inner = y.split(y.op.axis[-1], factor=16)
    k_outer, k_inner = y.split(y.op.reduce_axis[-1], factor=4)
    y.reorder(j_outer, k_outer, *y.op.axis[:-1], k_inner, j_inner)
    y.vectorize(j_inner)


def one_of_both(y: Stage) -> None:
    i = y.op.axis[-1]
    k = y.op.reduce_axis[0]
    y.reorder(i, k)
    fused = y.fuse(i, k) if len(y.op.reduce_axis) == 1 else i
    y.parallel(fused)


def turned(y: Stage) -> None:
    y.reorder(*reversed(y.op.reduce_axis))
    y.fuse(*reversed(y.op.reduce_axis))


def results_outside(y: Stage) -> None:
    y.reorder(*y.op.axis, *y.op.reduce_axis)
    y.parallel(y.op.axis[-1])


SUMS: dict[str, Ask] = {
    one.__name__: one
    for one in (
        blocks,
        parts_of_parts,
        sums_outside,
        blocks_outside,
        steps_outside,
        tiles,
        one_of_both,
        turned,
        results_outside,
    )
}


def rows(x: Tensor, how: str) -> Tensor:
    """y[i] = Σ_k x[i, k]."""
    k = reduce_axis((0, x.shape[1]), "k")
    return compute((x.shape[0],), lambda i: Reduce(how, x(i, k), [k]), name="y")


def columns(x: Tensor, how: str) -> Tensor:
    """y[j] = Σ_k x[k, j]."""
    k = reduce_axis((0, x.shape[0]), "k")
    return compute((x.shape[1],), lambda j: Reduce(how, x(k, j), [k]), name="y")


def everything(x: Tensor, how: str) -> Tensor:
    """y[0] = Σ_kl x[k, l]."""
    k, l = reduce_axis((0, x.shape[0]), "k"), reduce_axis((0, x.shape[1]), "l")  # noqa: E741
    return compute((1,), lambda i: Reduce(how, x(k, l), [k, l]), name="y")


def products(x: Tensor, how: str) -> Tensor:
    """y[i, j] = Σ_k x[i, k] · x[j, k]."""
    k = reduce_axis((0, x.shape[1]), "k")
    return compute(
        (x.shape[0], x.shape[0]), lambda i, j: Reduce(how, x(i, k) * x(j, k), [k]), name="y"
    )


GRAPHS: dict[Any, Callable[[np.ndarray, Any], np.ndarray]] = {
    rows: lambda x, f: f(x, axis=1),
    columns: lambda x, f: f(x, axis=0),
    everything: lambda x, f: f(x).reshape(1),
    products: lambda x, f: f(x[:, None, :] * x[None, :, :], axis=2),
}

ALL = tuple(itertools.product(GRAPHS, SUMS))
FEW = (
    (rows, "sums_outside"),
    (columns, "parts_of_parts"),
    (columns, "steps_outside"),
    (columns, "one_of_both"),
    (everything, "turned"),
    (products, "tiles"),
    (products, "results_outside"),
)
"""Each request once, except blocks, which other tables cover."""
CASES = [
    ("float16", "sum", (33, 70), FEW),
    ("int8", "sum", (1, 45), ((rows, "blocks_outside"), (columns, "blocks"))),
    *(
        pytest.param(*case, ALL, marks=FULL)
        for case in (
            ("float32", "sum", (37, 101)),
            ("float32", "max", (1, 67)),
            ("float64", "prod", (32, 16)),
            ("float16", "sum", (33, 70)),
            ("int8", "sum", (20, 45)),
            ("uint8", "max", (9, 33)),
        )
    ),
]


def array(shape: Sequence[int], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(7)
    kind = dtype_of(dtype).kind
    values = rng.uniform(-2, 2, shape) if kind == "float" else rng.integers(0, 100, shape)
    return values.astype(dtype_of(dtype).numpy)


@cases(
    "dtype, how, shape, asked",
    CASES,
    per_item=2,
    ids=lambda row: "-".join(map(str, row[:3])),
)
def test_sums_in_every_order(
    dtype: str,
    how: str,
    shape: tuple[int, int],
    asked: Sequence[tuple[Any, str]],
    cache: Store,
) -> None:
    x = placeholder(shape, dtype, name="x")
    outputs = [graph(x, how) for graph, _ in asked]
    schedule = create_schedule(outputs)
    for y, (_, name) in zip(outputs, asked, strict=True):
        SUMS[name](schedule[y])
    options = options_of(schedule.record(), outputs, [x], Options(parallel_elements=2))
    kernel = prepared_kernel.prepare(outputs, [x], options=options, cache=cache)
    given = array(shape, dtype)
    for threads in (1, 3):
        for found, (graph, name) in zip(kernel.run([given], {}, threads), asked, strict=True):
            try:
                assert_close(found, GRAPHS[graph](wide(given), reduced(how, dtype)), dtype)
            except AssertionError as error:
                raise AssertionError(f"{graph.__name__}, {name}, {threads} threads") from error


def wide(given: np.ndarray) -> np.ndarray:
    """In float64; integers wrap around in their dtype."""
    return given if given.dtype.kind in "iu" else given.astype(np.float64)


def reduced(how: str, dtype: str) -> Callable[..., np.ndarray]:
    """NumPy's reduction; integers in their own dtype."""
    kind = dtype_of(dtype).kind
    return lambda x, **axis: (
        NUMPY[how](x, **axis)
        if kind == "float"
        else NUMPY[how](x.astype(np.int64), **axis).astype(dtype)
    )


LOOPS: list[tuple[Any, Ask, list[str], list[str]]] = [
    (
        rows,
        blocks,
        [
            "for i in 0..40:  # threads share it",
            "for k in 0..200, 32 at a time:  # summed up",
            "for k in its block:  # summed up; vectors",
        ],
        [
            "for (int64_t i1_block32 = 0; i1_block32 < INT64_C(200); i1_block32 += 32)",
            "int64_t i1 = i1_block32;",
        ],
    ),
    (
        columns,
        blocks,
        [
            "for k in 0..40, 32 at a time:  # threads share it, 32 steps at least",
            "for k in its block:",
            "for j in 0..200:  # vectors",
        ],
        ["for (int64_t i0_block32 = begin; i0_block32 < end; i0_block32 += 32)"],
    ),
    (
        rows,
        sums_outside,
        ["for k in 0..200:  # threads share it; summed up", "for i in 0..40:  # vectors"],
        ["for (int64_t i0 = begin; i0 < end; i0++)", "f32_store(c0 + i1, (f32_load(c0 + i1) + "],
    ),
    (
        rows,
        blocks_outside,
        [
            "for i in 0..40, 8 at a time:  # threads share it, 8 steps at least",
            "for k in 0..200, 16 at a time:  # summed up",
            "for i in its block:",
            "for k in its block:  # summed up; vectors",
        ],
        ["i0_block8 += 8", "i1_block16 += 16"],
    ),
    (
        products,
        tiles,
        [
            "for j in 0..40, 16 at a time:  # threads share it, 16 steps at least",
            "for k in 0..200, 4 at a time:  # summed up",
            "for i in 0..40:",
            "for k in its block:  # summed up",
            "for j in its block:  # vectors",
        ],
        ["i2_block16 += 16", "i1_block4 += 4"],
    ),
    (
        everything,
        turned,
        ["for l in 0..200:  # summed up; vectors", "for k in 0..40:  # summed up"],
        [],
    ),
    (
        everything,
        lambda y: y.reorder(*reversed(y.op.reduce_axis)),
        ["for l in 0..200:  # summed up; vectors", "for k in 0..40:  # summed up"],
        [],
    ),
]


@cases("graph, ask, loops, code", LOOPS)
def test_loops_of_sums_come_as_they_are_asked_for(
    graph: Any, ask: Ask, loops: list[str], code: list[str]
) -> None:
    x = placeholder((40, 200), "float32", name="x")
    y = graph(x, "sum")
    schedule = create_schedule(y)
    ask(schedule[y])
    options = options_of(schedule.record(), [y], [x])
    layout = layout_of([y], [x], options)
    lines = [line.strip() for line in show_nests(layout, options).splitlines()]
    assert lines[:-1] == loops
    found = outcomes(schedule.record(), layout, options)
    assert {one.verdict for one in found if one.verb in ("split", "reorder")} <= {"followed"}
    slow = [one.why for one in found if one.verb == "reorder" and one.why]
    assert bool(slow) == ((graph, ask) in ((rows, sums_outside), (products, tiles)))
    text = write_program([y], [x], options=options).source
    assert [part for part in code if part not in text] == []


def drawn(chance: random.Random, dtype: str) -> tuple[Tensor, Tensor]:
    """A reduction of some axes of an array of up to four."""
    sizes = [chance.choice((1, 2, 5, 16, 33)) for _ in range(chance.randint(1, 4))]
    x = placeholder(sizes, dtype, name="x")
    summed = [chance.random() < 0.5 for _ in sizes]
    summed[chance.randrange(len(sizes))] = True
    inner = [reduce_axis((0, size), f"k{n}") for n, size in enumerate(sizes) if summed[n]]
    chance.shuffle(inner)
    left = [size for size, one in zip(sizes, summed, strict=True) if not one] or [1]

    def body(*axes: Any) -> Any:
        data, sums = iter(axes), iter(sorted(inner, key=lambda axis: str(axis.name)))
        return Reduce(how, x(*(next(sums) if one else next(data) for one in summed)), inner)

    how = chance.choice(("sum", "sum", "max", "min"))
    return compute(left, body, name="y"), x


@cases(
    "seed, count",
    [(0, 6), *(pytest.param(seed, 25, marks=FULL) for seed in range(ROUNDS))],
    per_item=3,
)
def test_no_schedule_changes_a_sum(seed: int, count: int, cache: Store) -> None:
    chance = random.Random(seed)
    dtype = chance.choice(("float32", "float16", "int32", "float64", "bool"))
    pairs = [drawn(chance, dtype) for _ in range(count)]
    outputs, inputs = [y for y, _ in pairs], [x for _, x in pairs]
    record = random_schedule(outputs, seed, requests=5 * count).record()
    rounding = chance.choice(("accurate", "device"))
    base = Options(parallel_elements=2, rounding=rounding)
    options = options_of(record, outputs, inputs, base)
    made = outputs_of(record, outputs)
    assert all(str(one) for one in outcomes(record, layout_of(made, inputs, options), options))
    arrays = [
        array([int(size.value) for size in x.shape], dtype)  # type: ignore[attr-defined]
        for x in inputs
    ]
    given = {id(x): one for x, one in zip(inputs, arrays, strict=True)}
    wanted = evaluate.run(
        outputs, given, rounding="float64" if dtype_of(dtype).kind == "float" else rounding
    )
    kernel = prepared_kernel.prepare(made, inputs, options=options, cache=cache)
    results = [kernel.run(arrays, {}, threads) for threads in (1, 3)]
    shapes, given_arrays = [one.shape for one in wanted], list(zip(inputs, arrays, strict=True))
    results += run_in_versions(made, given_arrays, {}, options, shapes, seed)
    for result in results:
        for found, exact in zip(result, wanted, strict=True):
            assert_close(found, exact, dtype)
