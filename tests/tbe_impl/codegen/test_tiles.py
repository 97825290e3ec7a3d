"""Stages computed by tiles inside other loops: against float64 NumPy, and in the C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tbe_impl.chip.schedule_checks import check
from tbe_impl.codegen.nest_text import show_nests
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.program import layout_of, write_program
from tbe_impl.codegen.schedule_compliance import outcomes
from tbe_impl.codegen.schedule_options import options_of, outputs_of
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Reduce, Select, const, make_binary
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis
from tbe_impl.errors import InputError
from tbe_impl.runtime.store import Store
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.test_sum_schedules import array
from tests.tbe_impl.tolerances import assert_close

Made = tuple[Tensor, list[Tensor], Callable[..., np.ndarray]]


def product(sizes: tuple[int, int, int], dtype: str) -> Made:
    """y[i, j] = Σ_k 2·a[i, k] · b[k, j]."""
    n, m, depth = sizes
    a, b = placeholder((n, depth), dtype, name="a"), placeholder((depth, m), dtype, name="b")
    t = compute(a.shape, lambda i, k: a(i, k) + a(i, k), name="t")
    k = reduce_axis((0, depth), "k")
    y = compute((n, m), lambda i, j: Reduce("sum", t(i, k) * b(k, j), [k]), name="y")
    return y, [a, b], lambda a, b: (a + a) @ b


def windows(sizes: tuple[int, int, int], dtype: str) -> Made:
    """y[i, j] = Σ_k t[i, j + k − 1] · w[k, 0], t = 2·x, with zeros outside."""
    n, m, _ = sizes
    x, w = placeholder((n, m), dtype, name="x"), placeholder((3, 1), dtype, name="w")
    t = compute(x.shape, lambda i, j: x(i, j) + x(i, j), name="t")
    p = compute(
        (n, m + 2),
        lambda i, j: Select(make_binary("and", j > 0, j < m + 1), t(i, j - 1), const(0, dtype)),
        name="p",
    )
    k = reduce_axis((0, 3), "k")
    y = compute((n, m), lambda i, j: Reduce("sum", p(i, j + k) * w(k, 0), [k]), name="y")

    def wanted(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        padded = np.pad(x + x, ((0, 0), (1, 1)))
        return sum(padded[:, k : k + m] * w[k, 0] for k in range(3))  # type: ignore[no-any-return]

    return y, [x, w], wanted


def neighbours(sizes: tuple[int, int, int], dtype: str) -> Made:
    """y[i, j] = Σ_k (t[i, k] + t[i, k + 1]) · b[k, j], t = 2·a: a tile holds the inputs of both
    reads.
    """
    n, m, depth = sizes
    a, b = placeholder((n, depth + 1), dtype, name="a"), placeholder((depth, m), dtype, name="b")
    t = compute(a.shape, lambda i, k: a(i, k) + a(i, k), name="t")
    k = reduce_axis((0, depth), "k")
    y = compute(
        (n, m), lambda i, j: Reduce("sum", (t(i, k) + t(i, k + 1)) * b(k, j), [k]), name="y"
    )
    return y, [a, b], lambda a, b: (2 * (a[:, :-1] + a[:, 1:])) @ b


def blocked(s: Schedule, y: Tensor) -> tuple[Any, Any]:
    """The loops i.outer, j.outer, k.outer, i.inner, k.inner, j.inner."""
    stage = s[y]
    i_outer, j_outer, i_inner, j_inner = stage.tile(*stage.op.axis, 8, 16)
    k_outer, k_inner = stage.split(stage.op.reduce_axis[0], factor=4)
    stage.reorder(i_outer, j_outer, k_outer, i_inner, k_inner, j_inner)
    return j_outer, k_outer


def packed(s: Schedule, y: Tensor) -> None:
    _, k_outer = blocked(s, y)
    copy = s.cache_read(s[y].op.input_tensors[1], "global", [y])
    s[copy].compute_at(s[y], k_outer)
    s[copy].reorder(*reversed(s[copy].op.axis))


def prepared(s: Schedule, y: Tensor) -> None:
    """Stages computed before the sum, in each of its blocks."""
    _, k_outer = blocked(s, y)
    s[s[y].op.input_tensors[0]].compute_at(s[y], k_outer)


def nested(s: Schedule, y: Tensor) -> None:
    made = s.cache_write(y, "global")
    i_outer, j_outer, *_ = s[y].tile(*s[y].op.axis, 8, 16)
    s[made].compute_at(s[y], j_outer)
    i, j = s[made].op.axis
    k_outer, k_inner = s[made].split(s[made].op.reduce_axis[0], factor=4)
    s[made].reorder(k_outer, i, k_inner, j)
    for tensor in s[made].op.input_tensors[:2]:
        s[s.cache_read(tensor, "global", [made])].compute_at(s[made], k_outer)
    s[y].parallel(i_outer)


def parts(s: Schedule, y: Tensor) -> None:
    _, k_inner = s[y].split(s[y].op.reduce_axis[0], nparts=2)
    part = s.rfactor(y, k_inner, -1)
    outer, _ = s[y].split(s[y].op.axis[1], factor=16)
    s[part].compute_at(s[y], outer)


ASKS: tuple[Callable[[Schedule, Tensor], None], ...] = (packed, prepared, nested, parts)


ALL = (
    *((graph, ask) for graph in (product, windows) for ask in ASKS),
    (neighbours, prepared),
)


@cases(
    "dtype, sizes, asked",
    [
        (
            "float32",
            (19, 37, 10),
            ((product, packed), (windows, prepared), (neighbours, prepared), (product, nested)),
        ),
        ("int8", (3, 20, 5), ((product, parts), (windows, nested))),
        *(
            pytest.param(*case, ALL, marks=FULL)
            for case in (
                ("float32", (16, 32, 8)),
                ("float32", (19, 37, 10)),
                ("float64", (5, 70, 33)),
                ("float16", (9, 18, 7)),
                ("int32", (8, 33, 4)),
                ("int8", (3, 20, 5)),
            )
        ),
    ],
    ids=lambda row: "-".join(map(str, row[:2])),
)
def test_results_stay(
    dtype: str, sizes: tuple[int, int, int], asked: Sequence[tuple[Any, Any]], cache: Store
) -> None:
    made = [(graph, ask, graph(sizes, dtype)) for graph, ask in asked]
    outputs, inputs = (
        [y for _, _, (y, _, _) in made],
        [x for *_, (_, given, _) in made for x in given],
    )
    schedule = create_schedule(outputs)
    for y, (_, ask, _) in zip(outputs, made, strict=True):
        ask(schedule, y)
    record = schedule.record()
    computed = outputs_of(record, outputs)
    options = options_of(record, outputs, inputs, Options(parallel_elements=2))
    assert len(layout_of(computed, inputs, options).tiles) >= len(outputs)
    kernel = prepared_kernel.prepare(computed, inputs, options=options, cache=cache)
    arrays = [
        array([int(size.value) for size in x.shape], dtype)  # type: ignore[attr-defined]
        for x in inputs
    ]
    whole = dtype_of(dtype).kind != "float"
    for threads in (1, 3):
        for number, found in enumerate(kernel.run(arrays, {}, threads)):
            graph, ask, (_, _, formula) = made[number]
            given = [
                one.astype(np.int64 if whole else np.float64)
                for one in arrays[2 * number : 2 * number + 2]
            ]
            wanted = formula(*given)
            try:
                assert_close(found, wanted.astype(dtype) if whole else wanted, dtype)
            except AssertionError as error:
                raise AssertionError(f"{graph.__name__}, {ask.__name__}") from error


def test_tiles_have_loops_of_their_own() -> None:
    y, inputs, _ = product((50, 70, 90), "float32")
    schedule = create_schedule(y)
    nested(schedule, y)
    record = schedule.record()
    made, options = outputs_of(record, [y]), options_of(record, [y], inputs)
    layout = layout_of(made, inputs, options)
    assert [line.strip() for line in show_nests(layout, options).splitlines()] == [
        "for i in 0..50, 8 at a time:  # threads share it, 8 steps at least",
        "for j in 0..70, 16 at a time:",
        "# a tile of y.global, 8 × 16, lies in memory",
        "for k in 0..90, 4 at a time:  # summed up",
        "# a tile of t.global, 8 × 4, lies in memory",
        "for i0 in its tile:",
        "for i1 in its tile:  # vectors",
        "t.global[i0, i1] = t[i0, i1]",
        "# a tile of b.global, 4 × 16, lies in memory",
        "for i0 in its tile:",
        "for i1 in its tile:  # vectors",
        "b.global[i0, i1] = b[i0, i1]",
        "for i.c in its tile:",
        "for k in its block:  # summed up",
        "for j.c in its tile:  # vectors",
        "y.global[i.c, j.c] = sum of t.global[i.c, k] * b.global[k, j.c]  # along k in 0..90",
        "for i in its block:",
        "for j in its block:  # vectors",
        "y[i, j] = y.global[i, j]",
    ]
    assert {one.verdict for one in outcomes(record, layout, options)} == {"followed"}
    assert write_program(made, inputs, options=options).source.count("aligned_alloc(") == 1


def on_the_chip(s: Schedule, y: Tensor) -> None:
    _, k_outer = blocked(s, y)
    for tensor in list(s[y].op.input_tensors[:2]):
        s[s.cache_read(tensor, "local.UB", [y])].compute_at(s[y], k_outer)


def test_memories_of_a_chip_are_tiles_for_a_processor(cache: Store) -> None:
    y, inputs, formula = product((19, 37, 10), "float32")
    schedule = create_schedule(y)
    on_the_chip(schedule, y)
    record = schedule.record()
    assert outputs_of(record, [y]) == (y,) and options_of(record, [y], inputs) == Options()
    made = outputs_of(record, [y], has_memories=False)
    options = options_of(record, [y], inputs, has_memories=False)
    layout = layout_of(made, inputs, options)
    found = outcomes(record, layout, options, has_memories=False)
    assert [one.why for one in found if one.verb == "set_scope"] == [
        "a tile of it lies in memory"
    ] * 2
    kernel = prepared_kernel.prepare(made, inputs, options=options, cache=cache)
    arrays = [
        array([int(size.value) for size in x.shape], "float32")  # type: ignore[attr-defined]
        for x in inputs
    ]
    assert_close(
        kernel.run(arrays, {}, 1)[0],
        formula(*(one.astype(np.float64) for one in arrays)),
        "float32",
    )
    schedule[y].emit_insn(schedule[y].leaf_iter_vars[-1], "vector_mul")
    assert outputs_of(schedule.record(), [y], has_memories=False) == (y,)


def test_a_loop_that_was_split_later_is_told() -> None:
    y, _, _ = product((16, 32, 8), "float32")
    schedule = create_schedule(y)
    _, k_outer = blocked(schedule, y)
    t = schedule[y].op.input_tensors[0]
    schedule[t].compute_at(schedule[y], k_outer)
    schedule[y].split(k_outer, factor=2)
    with pytest.raises(InputError, match=r"was split or fused after t was attached to it"):
        check(schedule, "cpu", raise_errors=True)
