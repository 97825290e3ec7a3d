"""Stages that a schedule adds (two-step sums, copies) against float64 NumPy, and in the C."""

from __future__ import annotations

import itertools
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
from tbe_impl.dsl.expr import Reduce, Var
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis
from tbe_impl.errors import InputError
from tbe_impl.runtime.store import Store
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.test_sum_schedules import (
    GRAPHS,
    SUMS,
    array,
    columns,
    everything,
    reduced,
    rows,
    wide,
)
from tests.tbe_impl.tolerances import assert_close

Ask = Callable[[Schedule, Tensor], Any]


def outer_parts(s: Schedule, y: Tensor, *, place: int = 0) -> Tensor:
    outer, _ = s[y].split(y.op.reduce_axis[0], factor=16)
    found: Tensor = s.rfactor(y, outer, place)
    return found


def inner_parts(s: Schedule, y: Tensor) -> Tensor:
    _, inner = s[y].split(y.op.reduce_axis[-1], nparts=5)
    found: Tensor = s.rfactor(y, inner, -1)
    return found


def parts_in_the_loop(s: Schedule, y: Tensor) -> None:
    part = inner_parts(s, y)
    s[part].compute_at(s[y], y.op.axis[0])


def parts_with_loops_of_their_own(s: Schedule, y: Tensor) -> None:
    part = outer_parts(s, y)
    outer, *rest = part.op.axis
    s[part].reorder(*rest, *part.op.reduce_axis, outer)
    s[part].parallel(rest[0] if rest else outer)
    s[y].split(s[y].op.reduce_axis[0], factor=3)


def parts_of_parts(s: Schedule, y: Tensor) -> None:
    part = outer_parts(s, y, place=-1)
    outer, _ = s[part].split(part.op.reduce_axis[-1], factor=4)
    second = s.rfactor(part, outer)
    s.cache_write(second, "global")


def a_whole_axis(s: Schedule, y: Tensor) -> None:
    s.rfactor(y, y.op.reduce_axis[0])


def fused_parts(s: Schedule, y: Tensor) -> None:
    fused = s[y].fuse(*y.op.reduce_axis)
    outer, _ = s[y].split(fused, factor=23)
    s.rfactor(y, outer)


def copies(s: Schedule, y: Tensor) -> None:
    made = s.cache_write(y, "global")
    s.cache_read(s[made].op.input_tensors[0], "global", [made])
    axes = s[made].op.axis
    s[made].reorder(*s[made].op.reduce_axis, *axes)


def copies_at_a_loop(s: Schedule, y: Tensor) -> None:
    outer, _ = s[y].split(y.op.axis[-1], factor=8)
    made = s.cache_write(y, "global")
    s[made].compute_at(s[y], outer)


ASKS = (
    outer_parts,
    inner_parts,
    parts_in_the_loop,
    parts_with_loops_of_their_own,
    parts_of_parts,
    a_whole_axis,
    fused_parts,
    copies,
    copies_at_a_loop,
)
ALL = tuple(itertools.product((rows, columns, everything), ASKS))
FEW = (
    (rows, inner_parts),
    (rows, parts_of_parts),
    (columns, outer_parts),
    (columns, copies_at_a_loop),
    (everything, fused_parts),
    (everything, parts_with_loops_of_their_own),
)
"""Each request once, except those with dynamic sizes."""
CASES = [
    ("float16", "sum", (33, 70), FEW),
    *(
        pytest.param(*case, ALL, marks=FULL)
        for case in (
            ("float32", "sum", (37, 101)),
            ("bfloat16", "max", (16, 35)),
            ("float16", "sum", (33, 70)),
            ("uint8", "min", (9, 33)),
            ("int32", "prod", (1, 17)),
        )
    ),
]


@cases(
    "dtype, how, shape, asked",
    CASES,
    per_item=2,
    ids=lambda row: "-".join(map(str, row[:3])),
)
def test_results_stay(
    dtype: str,
    how: str,
    shape: tuple[int, int],
    asked: Sequence[tuple[Any, Ask]],
    cache: Store,
) -> None:
    x = placeholder(shape, dtype, name="x")
    outputs = [graph(x, how) for graph, _ in asked]
    schedule = create_schedule(outputs)
    for y, (_, ask) in zip(outputs, asked, strict=True):
        ask(schedule, y)
    record = schedule.record()
    made = outputs_of(record, outputs)
    options = options_of(record, outputs, [x], Options(parallel_elements=2))
    layout = layout_of(made, [x], options)
    assert all(str(one) for one in outcomes(record, layout, options))
    kernel = prepared_kernel.prepare(made, [x], options=options, cache=cache)
    given = array(shape, dtype)
    for threads in (1, 3):
        for found, (graph, ask) in zip(kernel.run([given], {}, threads), asked, strict=True):
            try:
                assert_close(found, GRAPHS[graph](wide(given), reduced(how, dtype)), dtype)
            except AssertionError as error:
                raise AssertionError(f"{graph.__name__}, {ask.__name__}") from error


@cases(
    "asked, own",
    [
        (
            ((rows, parts_in_the_loop), (columns, copies)),
            ((rows, SUMS["blocks"]),),
        ),
        pytest.param(
            tuple(itertools.product((rows, columns), ASKS)),
            tuple(itertools.product((rows, columns), SUMS.values())),
            marks=FULL,
        ),
    ],
    ids=["few", "all"],
)
def test_results_stay_for_sizes_of_run_time(
    asked: Sequence[tuple[Any, Ask]], own: Sequence[tuple[Any, Any]], cache: Store
) -> None:
    n, m = Var("n", "int32"), Var("m", "int32")
    x = placeholder((n, m), "float32", name="x")
    outputs = [graph(x, "sum") for graph, _ in (*asked, *own)]
    schedule = create_schedule(outputs)
    for y, (_, ask) in zip(outputs, asked, strict=False):
        ask(schedule, y)
    for y, (_, ask) in zip(outputs[len(asked) :], own, strict=True):
        ask(schedule[y])
    record = schedule.record()
    options = options_of(record, outputs, [x], Options(parallel_elements=2, portions=5))
    kernel = prepared_kernel.prepare(outputs_of(record, outputs), [x], options=options, cache=cache)
    for shape in ((7, 50), (33, 16), (1, 1)):
        given = array(shape, "float32")
        for found, (graph, _) in zip(
            kernel.run([given], {id(n): shape[0], id(m): shape[1]}, 3), (*asked, *own), strict=True
        ):
            assert_close(found, GRAPHS[graph](wide(given), np.sum), "float32")


LOOPS: list[tuple[Any, Ask, list[str]]] = [
    (
        everything,
        outer_parts,
        [
            "for k.outer in 0..4:  # threads share it",
            "y.rf[k.outer, i] = sum of x[((k.outer * 16) + k.inner), l]  # along k.inner in "
            "0..16, l in 0..37",
            "y[i] = sum of y.rf[k.outer.v, i]  # along k.outer.v in 0..4",
        ],
    ),
    (
        columns,
        parts_in_the_loop,
        [
            "for i in 0..37:  # threads share it; vectors",
            "for k.inner.v in 0..10:  # summed up",
            "y[i] = sum of y.rf[i, k.inner.v]  # along k.inner.v in 0..10",
        ],
    ),
    (
        rows,
        lambda s, y: s.cache_read(s[y].op.input_tensors[0], "global", [y]),
        [
            "for i0.i1 in 0..1850:  # threads share it; vectors",
            "x.global[i0, i1] = x[i0, i1]",
            "for i in 0..50:  # threads share it",
            "y[i] = sum of x.global[i, k]  # along k in 0..37",
        ],
    ),
]


@cases("graph, ask, loops", LOOPS)
def test_what_is_added_has_loops_of_its_own(graph: Any, ask: Ask, loops: list[str]) -> None:
    x = placeholder((50, 37), "float32", name="x")
    y = graph(x, "sum")
    schedule = create_schedule(y)
    ask(schedule, y)
    record = schedule.record()
    made, options = outputs_of(record, [y]), options_of(record, [y], [x])
    layout = layout_of(made, [x], options)
    lines = [line.strip() for line in show_nests(layout, options).splitlines()]
    assert [line.replace("[j", "[i").replace("j in", "i in") for line in lines] == loops
    assert {one.verdict for one in outcomes(record, layout, options)} == {"followed"}


def test_the_rest_of_the_last_part_is_never_read() -> None:
    x = placeholder((7, 50), "float32", name="x")
    y = rows(x, "max")
    schedule = create_schedule(y)
    outer_parts(schedule, y)
    record = schedule.record()
    source = write_program(
        outputs_of(record, [y]), [x], options=options_of(record, [y], [x])
    ).source
    assert "least(INT64_C(16), INT64_C(-16)*i0 + INT64_C(50))" in source
    assert "gather_at" not in source


def test_a_condition_stays_when_nothing_else_is_summed(cache: Store) -> None:
    x = placeholder((5, 40), "float32", name="x")
    k = reduce_axis((0, 40), "k")
    y = compute((5,), lambda i: Reduce("max", x(i, k), [k], k < 17), name="y")
    schedule = create_schedule(y)
    part = schedule.rfactor(y, k)
    assert not isinstance(part.op.body[0], Reduce)
    record = schedule.record()
    kernel = prepared_kernel.prepare(
        outputs_of(record, [y]), [x], options=options_of(record, [y], [x]), cache=cache
    )
    given = array((5, 40), "float32")
    np.testing.assert_array_equal(kernel.run([given], {}, 1)[0], given[:, :17].max(axis=1))


@cases("factor", [None, 5, pytest.param(4, marks=FULL)])
def test_an_axis_that_begins_later(factor: int | None, cache: Store) -> None:
    x = placeholder((5, 15), "float32", name="x")
    k = reduce_axis((3, 15), "k")
    y = compute((5,), lambda i: Reduce("sum", x(i, k), [k]), name="y")
    schedule = create_schedule(y)
    schedule.rfactor(y, k if factor is None else schedule[y].split(k, factor=factor)[0])
    record = schedule.record()
    kernel = prepared_kernel.prepare(
        outputs_of(record, [y]), [x], options=options_of(record, [y], [x]), cache=cache
    )
    given = array((5, 15), "float32")
    assert_close(
        kernel.run([given], {}, 1)[0], given[:, 3:].sum(axis=1, dtype=np.float64), "float32"
    )


def test_what_cannot_be_factored_is_told() -> None:
    y = rows(placeholder((5, 40), "float32", name="x"), "sum")
    schedule = create_schedule(y)
    with pytest.raises(InputError, match=r"i is not a reduce loop.*expected a loop made of"):
        schedule.rfactor(y, y.op.axis[0])


def test_a_loop_over_results_as_well_is_not_factored() -> None:
    y = rows(placeholder((5, 40), "float32", name="x"), "sum")
    schedule = create_schedule(y)
    outer, inner = schedule[y].split(y.op.reduce_axis[0], factor=8)
    schedule[y].fuse(y.op.axis[0], outer)
    with pytest.raises(
        InputError, match=r"goes over results as well.*Fuse what is reduced with nothing"
    ):
        schedule.rfactor(y, inner)


def test_what_is_added_for_the_device_is_left_to_it() -> None:
    x = placeholder((50, 37), "float32", name="x")
    y = rows(x, "sum")
    schedule = create_schedule(y)
    outer_parts(schedule, y)
    schedule.cache_read(x, "local.UB", list(schedule[y].op.input_tensors[:1]))
    record = schedule.record()
    assert outputs_of(record, [y]) == (y,)
