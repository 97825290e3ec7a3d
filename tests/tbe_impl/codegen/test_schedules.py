"""Effect of manual schedules on the loops of the C: a table of requests with equal results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tbe_impl.codegen.nest_text import show_nests
from tbe_impl.codegen.options import DEFAULT_OPTIONS, LoopChoice, LoopOrder, Options
from tbe_impl.codegen.program import Layout, layout_of
from tbe_impl.codegen.schedule_compliance import (
    VERDICT_DEVICE,
    VERDICT_FOLLOWED,
    VERDICT_NOT_FOLLOWED,
    Outcome,
    outcomes,
)
from tbe_impl.codegen.schedule_options import options_of, outputs_of
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis, stages_of, thread_axis
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tbe_impl.scheduling.stage_schedule import Stage
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.random_graphs import make
from tests.tbe_impl.codegen.random_schedules import follow_everything, random_schedule
from tests.tbe_impl.codegen.test_random_graphs import assert_alike

GRAPHS = int(os.environ.get("TBE_FUZZ", "0")) or 8
BLOCKS, ROWS, COLUMNS = 3, 1000, 520
"""x has BLOCKS blocks of rows; all are multiplied with the same rows, which exceed each core's
cache.
"""

IN_A_CACHE = "what is read again is still in a cache: the order of memory is the fastest"
NEIGHBOURS = "neighbours in memory are steps of another loop"


def blocks_with_weights() -> tuple[Tensor, list[Tensor]]:
    """y[i, j, k] = x[i, j, k] · w[j, k]."""
    x = placeholder((BLOCKS, ROWS, COLUMNS), "float32", name="x")
    w = placeholder((ROWS, COLUMNS), "float32", name="w")
    return compute(x.shape, lambda i, j, k: x(i, j, k) * w(j, k), name="y"), [x, w]


def scaled_rows() -> tuple[Tensor, list[Tensor]]:
    """y[i, j] = x[i, j] · c[i]."""
    x = placeholder((64, 300), "float32", name="x")
    c = placeholder((64,), "float32", name="c")
    return compute(x.shape, lambda i, j: x(i, j) * c(i), name="y"), [x, c]


def prepared(
    y: Tensor, inputs: Sequence[Tensor], schedule: Schedule
) -> tuple[Options, Layout, tuple[Outcome, ...]]:
    record = schedule.record()
    options = options_of(record, [y], inputs)
    layout = layout_of([y], inputs, options)
    return options, layout, outcomes(record, layout, options)


def verdicts(found: Sequence[Outcome]) -> dict[str, str]:
    return {one.verb: one.verdict if one.verdict != "not followed" else one.why for one in found}


RUN = ("blocks of columns", "fused", "four vectors", "columns to threads")
"""Orders and annotations whose kernels `make test` also compiles and runs; it checks the loops of
all.
"""


def assert_unchanged(y: Tensor, inputs: Sequence[Tensor], options: Options, cache: Store) -> None:
    """Bit-identical to the result without the schedule, with one thread and with three."""
    rng = np.random.default_rng(0)
    arrays = [
        rng.uniform(-2, 2, [int(size.value) for size in t.shape]).astype(t.dtype) for t in inputs
    ]  # type: ignore[attr-defined]
    (wanted,) = prepared_kernel.prepare([y], inputs, cache=cache).run(arrays, {}, 1)
    kernel = prepared_kernel.prepare([y], inputs, options=options, cache=cache)
    for threads in (1, 3):
        np.testing.assert_array_equal(kernel.run(arrays, {}, threads)[0], wanted)


def blocks_first(y: Stage) -> None:
    i, j, k = y.op.axis
    outer, inner = y.split(j, factor=64)
    y.reorder(outer, i, inner, k)
    y.parallel(outer)
    y.vectorize(k)


def nested_blocks(y: Stage) -> None:
    i, j, k = y.op.axis
    outer, middle = y.split(j, factor=96)
    middle, inner = y.split(middle, factor=7)
    y.reorder(outer, i, middle, k, inner)


def two_sided(y: Stage) -> None:
    i, j, k = y.op.axis
    j_outer, j_inner = y.split(j, nparts=10)
    k_outer, k_inner = y.split(k, factor=256)
    y.reorder(j_outer, k_outer, i, j_inner, k_inner)
    y.unroll(j_inner)


def steps_of_blocks_fused_inside(y: Stage) -> None:
    i, j, k = y.op.axis
    outer, inner = y.split(j, factor=64)
    y.reorder(outer, i, inner, k)
    y.fuse(inner, k)


def fused_blocks(y: Stage) -> None:
    i, j, k = y.op.axis
    outer, inner = y.split(j, factor=64)
    y.reorder(outer, i, inner, k)
    y.bind(y.fuse(outer, i), thread_axis("blockIdx.x"))


ORDERS: dict[str, tuple[Callable[[Stage], Any], list[str], dict[str, str]]] = {
    "nothing": (
        lambda y: None,
        ["for i in 0..3:  # threads share it", "for j.k in 0..520000:  # vectors"],
        {},
    ),
    "reorder": (
        lambda y: y.reorder(y.op.axis[1], y.op.axis[0], y.op.axis[2]),
        ["for j in 0..1000:  # threads share it", "for i in 0..3:", "for k in 0..520:  # vectors"],
        {"reorder": "followed"},
    ),
    "blocks": (
        blocks_first,
        [
            "for j in 0..1000, 64 at a time:  # threads share it, 64 steps at least",
            "for i in 0..3:",
            "for j in its block:",
            "for k in 0..520:  # vectors",
        ],
        {"split": "followed", "parallel": "followed", "vectorize": "followed"},
    ),
    "nested blocks": (
        nested_blocks,
        [
            "for j in 0..1000, 96 at a time:  # threads share it",
            "for i in 0..3:",
            "for j in its block:",
            "for k in 0..520:  # vectors",
        ],
        {"reorder": NEIGHBOURS},
    ),
    "blocks of columns": (
        two_sided,
        [
            "for j in 0..1000, 100 at a time:  # threads share it",
            "for k in 0..520, 256 at a time:",
            "for i in 0..3:",
            "for j in its block:  # 16 at once",
            "for k in its block:  # vectors",
        ],
        {"split": "followed", "reorder": "followed", "unroll": "followed"},
    ),
    "fused": (
        fused_blocks,
        [
            "for j in 0..1000, 64 at a time and i in 0..3:  # fused; threads share it",
            "for j in its block:",
            "for k in 0..520:  # vectors",
        ],
        {"fuse": "followed", "bind": "followed"},
    ),
    "fused inside blocks": (
        steps_of_blocks_fused_inside,
        [
            "for j in 0..1000, 64 at a time:  # threads share it",
            "for i in 0..3:",
            "for j in its block:",
            "for k in 0..520:  # vectors",
        ],
        {"split": "followed", "fuse": "the innermost loop runs over neighbours in memory"},
    ),
    "the innermost first": (
        lambda y: y.reorder(*reversed(y.op.axis)),
        ["for j in 0..1000:  # threads share it", "for i in 0..3:", "for k in 0..520:  # vectors"],
        {"reorder": NEIGHBOURS},
    ),
}


@cases("name", ORDERS)
def test_loops_come_as_they_are_asked_for(name: str, full: bool, cache: Store) -> None:
    ask, loops, wanted = ORDERS[name]
    y, inputs = blocks_with_weights()
    schedule = create_schedule(y)
    ask(schedule[y])
    options, layout, found = prepared(y, inputs, schedule)
    lines = [line.strip() for line in show_nests(layout, options).splitlines()]
    assert lines[:-1] == loops
    assert verdicts(found).items() >= wanted.items()
    if full or name in RUN:
        assert_unchanged(y, inputs, options, cache)


def columns_last(y: Stage) -> None:
    y.reorder(y.op.axis[1], y.op.axis[0])


def chunks_of_rows(y: Stage) -> None:
    outer, inner = y.split(y.op.axis[0], factor=16)
    y.parallel(outer)
    y.unroll(inner)


def four_vectors(y: Stage) -> None:
    _, inner = y.split(y.op.axis[1], factor=64)
    y.unroll(inner)


def steps_of_blocks_fused(y: Stage) -> None:
    _, inner = y.split(y.op.axis[0], factor=16)
    y.parallel(y.fuse(inner, y.op.axis[1]))


MARKS: dict[str, tuple[Callable[[Stage], Any], list[str], dict[str, str]]] = {
    "order": (
        columns_last,
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors"],
        {"reorder": NEIGHBOURS},
    ),
    "tiles": (
        lambda y: y.tile(*y.op.axis, 16, 256),
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors"],
        {"reorder": IN_A_CACHE},
    ),
    "chunks": (
        chunks_of_rows,
        [
            "for i in 0..64:  # threads share it, 16 steps at least; 16 at once",
            "for j in 0..300:  # vectors",
        ],
        {"split": "followed", "parallel": "followed", "unroll": "followed"},
    ),
    "four vectors": (
        four_vectors,
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors, 4 at once"],
        {"split": "followed", "unroll": "followed"},
    ),
    "columns to threads": (
        lambda y: y.parallel(y.op.axis[1]),
        ["for i in 0..64:", "for j in 0..300:  # threads share it; vectors"],
        {"parallel": "followed"},
    ),
    "vectors along columns": (
        lambda y: y.vectorize(y.op.axis[0]),
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors"],
        {"vectorize": NEIGHBOURS},
    ),
    "a pragma": (
        lambda y: y.pragma(y.op.axis[1], "vectorize"),
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors"],
        {"pragma": "followed"},
    ),
    "fused": (
        lambda y: y.parallel(y.fuse(*y.op.axis)),
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors"],
        {"fuse": "the innermost loop runs over neighbours in memory"},
    ),
    "fused inside blocks": (
        steps_of_blocks_fused,
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors"],
        {"split": "followed", "parallel": "followed"},
    ),
    "the device's words": (
        lambda y: (
            y.double_buffer(),
            y.storage_align(y.op.axis[0], 16, 0),
            y.pragma(y.op.axis[0], "loop_partition_hint"),
        ),
        ["for i in 0..64:  # threads share it", "for j in 0..300:  # vectors"],
        {"double_buffer": "device", "storage_align": "device", "pragma": "device"},
    ),
}


@cases("name", MARKS)
def test_marks_are_followed_where_the_order_stays(name: str, full: bool, cache: Store) -> None:
    ask, loops, wanted = MARKS[name]
    y, inputs = scaled_rows()
    schedule = create_schedule(y)
    ask(schedule[y])
    options, layout, found = prepared(y, inputs, schedule)
    lines = [line.strip() for line in show_nests(layout, options).splitlines()]
    assert lines[:-1] == loops
    assert verdicts(found).items() >= wanted.items()
    if full or name in RUN:
        assert_unchanged(y, inputs, options, cache)


def smoothed() -> tuple[Tensor, Tensor, list[Tensor]]:
    """y[i, j] = e[i, j] + e[i + 1, j] with e = exp(x)."""
    x = placeholder((33, 300), "float32", name="x")
    e = compute(x.shape, lambda i, j: OPERATIONS["vexp"](x)(i, j), name="e")
    return compute((32, 300), lambda i, j: e(i, j) + e(i + 1, j), name="y"), e, [x]


def shares_of_rows() -> tuple[Tensor, Tensor, list[Tensor]]:
    """y[i, j] = t[i, j] · Σ_k t[i, k] with t = 2x + 1."""
    x = placeholder((8, 300), "float32", name="x")
    t = compute(x.shape, lambda i, j: x(i, j) * 2.0 + 1.0, name="t")
    k = reduce_axis((0, 300), "k")
    total = compute((8,), lambda i: Reduce("sum", t(i, k), [k]), name="total")
    return compute(x.shape, lambda i, j: t(i, j) * total(i), name="y"), t, [x]


def chain() -> tuple[Tensor, Tensor, list[Tensor]]:
    """y = (x + 1) · 2."""
    x = placeholder((8, 300), "float32", name="x")
    t = compute(x.shape, lambda i, j: x(i, j) + 1.0, name="t")
    return compute(x.shape, lambda i, j: t(i, j) * 2.0, name="y"), t, [x]


PLACES: list[tuple[Callable[[], Any], Callable[[Schedule, Tensor, Tensor], Any], str, str, str]] = [
    (smoothed, lambda s, t, y: s[t].compute_root(), "compute_root", "followed", "memory"),
    (smoothed, lambda s, t, y: s[t].compute_inline(), "compute_inline", "followed", ""),
    (
        smoothed,
        lambda s, t, y: (s[t].compute_root(), s[t].compute_inline()),
        "compute_root",
        "a later call says otherwise",
        "",
    ),
    (
        chain,
        lambda s, t, y: s[t].compute_root(),
        "compute_root",
        "each element is read once, where it can be computed as well",
        "",
    ),
    (
        chain,
        lambda s, t, y: s[t].compute_at(s[y], y.op.axis[0]),
        "compute_at",
        "one loop over the row reads it, and computes it",
        "",
    ),
    (
        shares_of_rows,
        lambda s, t, y: s[t].compute_at(s[y], y.op.axis[0]),
        "compute_at",
        "followed",
        "row",
    ),
    (
        shares_of_rows,
        lambda s, t, y: s[t].compute_at(s[y], y.op.axis[1]),
        "compute_at",
        "one element or more than a row: it is computed where it is read",
        "",
    ),
]


@cases("graph, ask, verb, verdict, place", PLACES)
def test_stages_lie_where_they_are_asked_to(
    graph: Any, ask: Any, verb: str, verdict: str, place: str, cache: Store
) -> None:
    y, t, inputs = graph()
    schedule = create_schedule(y)
    ask(schedule, t, y)
    options, layout, found = prepared(y, inputs, schedule)
    assert (id(t) in layout.nest_of_stored, id(t) in layout.stages_with_row_buffers) == (
        place == "memory",
        place == "row",
    )
    assert verdicts(found)[verb] == verdict
    assert_unchanged(y, inputs, options, cache)


def test_what_is_written_for_the_device_is_left_to_it(cache: Store) -> None:
    y, inputs = blocks_with_weights()
    schedule = create_schedule(y)
    copy = schedule.cache_read(inputs[0], "local.UB", [y])
    outer, inner = schedule[y].split(y.op.axis[1], factor=8)
    schedule[y].reorder(outer, y.op.axis[0], inner, y.op.axis[2])
    schedule[copy].compute_at(schedule[y], outer)
    schedule[y].bind(outer, thread_axis("blockIdx.x"))
    options, _, found = prepared(y, inputs, schedule)
    assert options == DEFAULT_OPTIONS
    assert set(verdicts(found).values()) == {"device"}


def test_the_devices_cores_and_our_threads_may_share_one_loop() -> None:
    y, inputs = scaled_rows()
    schedule = create_schedule(y)
    outer, inner = schedule[y].split(y.op.axis[0], factor=8)
    schedule[y].bind(outer, thread_axis("blockIdx.x"))
    schedule[y].emit_insn(inner, "dma_copy")
    options, _, found = prepared(y, inputs, schedule)
    assert options == DEFAULT_OPTIONS
    assert verdicts(found) == {"split": "device", "bind": "followed", "emit_insn": "device"}


def test_a_block_of_rows_in_one_loop(cache: Store) -> None:
    x = placeholder((64, 300), "float32", name="x")
    y = compute(x.shape, lambda i, j: x(i, j) * 2.0, name="y")
    schedule = create_schedule(y)
    steps_of_blocks_fused(schedule[y])
    options, layout, _ = prepared(y, [x], schedule)
    assert show_nests(layout, options).startswith("for i.j in 0..19200:")
    assert_unchanged(y, [x], options, cache)


@cases("asker", [0, 1])
def test_results_of_one_nest_share_the_loops_that_one_asks_for(asker: int) -> None:
    y, inputs = scaled_rows()
    z = compute(y.shape, lambda i, j: y(i, j) + 1.0, name="z")
    schedule = create_schedule([y, z])
    outer, _ = schedule[(y, z)[asker]].split((y, z)[asker].op.axis[0], factor=16)
    schedule[(y, z)[asker]].parallel(outer)
    record = schedule.record()
    options = options_of(record, [y, z], inputs)
    layout = layout_of([y, z], inputs, options)
    assert show_nests(layout, options).startswith("for i in 0..64:  # threads share it, 16 steps")
    found = verdicts(outcomes(record, layout, options))
    assert found == {"split": "followed", "parallel": "followed"}


@cases("parts", [((1, 64), (0, 1), (1, 1)), pytest.param(((1, 64), (1, 1)), marks=FULL)])
def test_blocks_fused_with_their_own_steps_are_left_alone(
    parts: tuple[tuple[int, int], ...], cache: Store
) -> None:
    y, inputs = blocks_with_weights()
    rest = [LoopChoice(((axis, 1),)) for axis in (0, 2) if (axis, 1) not in parts]
    options = Options(orders=(LoopOrder(0, (LoopChoice(parts), *rest)),))
    (nest,) = layout_of([y], inputs, options).nests
    assert [level.parts for level in nest.levels] == [((serial, 1),) for serial, _ in nest.loops]
    assert nest.refusals
    assert_unchanged(y, inputs, options, cache)


def test_orders_for_another_graph_are_left_alone(cache: Store) -> None:
    y, inputs = scaled_rows()
    loops = (LoopChoice(((7, 1),), shared=True), LoopChoice(((0, 3),)))
    options = Options(orders=(LoopOrder(0, loops), LoopOrder(99, loops)), rows=(50,), inlined=(9,))
    assert_unchanged(y, inputs, options, cache)


@cases("seed", range(8))
def test_each_request_has_an_outcome(seed: int) -> None:
    """Schedules that `make test` does not compile, by default and with every request applied."""
    graph = make(seed)
    outputs, inputs = [node.tensor for node in graph.outputs], [t for t, _ in graph.inputs]
    if any(op.kind == "library" for op in stages_of(outputs)):
        return
    record = random_schedule(outputs, seed).record()
    made = outputs_of(record, outputs)
    with pytest.MonkeyPatch.context() as patch:
        for _ in range(2):
            options = options_of(record, outputs, inputs, Options(parallel_elements=2))
            found = outcomes(record, layout_of(made, inputs, options), options)
            assert found and {one.verdict for one in found} <= {
                VERDICT_FOLLOWED,
                VERDICT_DEVICE,
                VERDICT_NOT_FOLLOWED,
            }
            follow_everything(patch)


@cases("seed", range(GRAPHS), quick=1, per_item=4)
def test_no_schedule_changes_a_result(
    seed: int, monkeypatch: pytest.MonkeyPatch, cache: Store
) -> None:
    follow_everything(monkeypatch)
    graph = make(seed)
    outputs, inputs = [node.tensor for node in graph.outputs], [t for t, _ in graph.inputs]
    record = random_schedule(outputs, seed).record()
    rounding = "device" if seed % 5 == 4 else "accurate"
    base = Options(
        rounding=rounding, parallel_elements=2, stream_bytes=1024 if seed % 3 else 1 << 24
    )
    options = options_of(record, outputs, inputs, base)
    made = outputs_of(record, outputs)
    if not any(op.kind == "library" for op in stages_of(outputs)):
        layout = layout_of(made, inputs, options)
        assert all(str(one) for one in outcomes(record, layout, options))
    given = {id(tensor): array for tensor, array in graph.inputs}
    wanted, exact = (
        evaluate.run(outputs, given, graph.values, rounding=how) for how in (rounding, "float64")
    )
    kernel = prepared_kernel.prepare(made, inputs, options=options, cache=cache)
    for threads in (1, 2):
        found = kernel.run([array for _, array in graph.inputs], graph.values, threads)
        for case in zip(graph.outputs, found, wanted, exact, strict=True):
            assert_alike(*case)


def test_what_is_stacked_stays_so_in_loops_that_are_asked_for(cache: Store) -> None:
    inputs = [placeholder((6, 900, 1), "float32") for _ in range(3)]
    y = OPERATIONS["concat"](inputs, 2)
    schedule = create_schedule(y.op)
    schedule[y].parallel(y.op.axis[0])
    options, *_ = prepared(y, inputs, schedule)
    assert options != DEFAULT_OPTIONS
    for one in (DEFAULT_OPTIONS, options):
        assert (
            "f32_scatter(" in prepared_kernel.prepare([y], inputs, options=one, cache=cache).source
        )
    assert_unchanged(y, inputs, options, cache)
