"""Loop requests of a schedule, in terms of a stage's axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis
from tbe_impl.scheduling.loop_requests import (
    collect_requested_loops,
    collect_requests,
    has_mixed_axis_order,
    is_for_device,
    placement_of,
)
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tbe_impl.scheduling.stage_schedule import Stage
from tests.cases import cases

Loops = list[tuple[tuple[tuple[str, int], ...], set[str]]]


def scaled() -> tuple[Tensor, Schedule]:
    x = placeholder((60, 1000), "float32", name="x")
    y = compute(x.shape, lambda i, j: x(i, j) * 2, name="y")
    return y, create_schedule(y)


def asked(schedule: Schedule, tensor: Tensor) -> Loops:
    loops = collect_requested_loops(schedule.record().stage(tensor.op))
    return [
        (tuple((part.axis.name, part.step) for part in loop.parts), {*loop.marks}) for loop in loops
    ]


def blocks(y: Stage) -> None:
    y.tile(*y.op.axis, 7, 128)


def followed_by_their_steps(y: Stage) -> None:
    outer, inner = y.split(y.op.axis[1], factor=64)
    y.parallel(outer)
    y.unroll(inner)


def blocks_of_blocks(y: Stage) -> None:
    outer, inner = y.split(y.op.axis[0], factor=5)
    first, second = y.split(outer, factor=4)
    y.reorder(first, y.op.axis[1], second, inner)


def a_fused_loop_cut_again(y: Stage) -> None:
    _, inner = y.split(y.fuse(*y.op.axis), factor=16)
    y.vectorize(inner)


def cut_and_fused_back(y: Stage) -> None:
    y.fuse(*y.split(y.op.axis[0], factor=7))


def blocks_of_one_step(y: Stage) -> None:
    y.split(y.op.axis[0], nparts=60)


CASES: list[tuple[Callable[[Stage], Any], Loops]] = [
    (lambda y: None, [((("i", 1),), set()), ((("j", 1),), set())]),
    (lambda y: y.reorder(*reversed(y.op.axis)), [((("j", 1),), set()), ((("i", 1),), set())]),
    (
        blocks,
        [((("i", 7),), set()), ((("j", 128),), set()), ((("i", 1),), set()), ((("j", 1),), set())],
    ),
    (followed_by_their_steps, [((("i", 1),), set()), ((("j", 1),), {"parallel", "unroll"})]),
    (blocks_of_blocks, [((("i", 20),), set()), ((("j", 1),), set()), ((("i", 1),), set())]),
    (a_fused_loop_cut_again, [((("i", 1), ("j", 1)), {"vectorize"})]),
    (cut_and_fused_back, [((("i", 1),), set()), ((("j", 1),), set())]),
    (blocks_of_one_step, [((("i", 1),), set()), ((("j", 1),), set())]),
]


@cases("ask, wanted", CASES)
def test_loops_in_terms_of_axes(ask: Callable[[Stage], Any], wanted: Loops) -> None:
    y, schedule = scaled()
    ask(schedule[y])
    assert asked(schedule, y) == wanted


def test_what_is_reduced_has_its_place_among_the_loops() -> None:
    x = placeholder((60, 1000), "float32", name="x")
    k = reduce_axis((0, 1000), "k")
    r = compute((60,), lambda i: Reduce("sum", x(i, k), [k]), name="r")
    schedule = create_schedule(r)
    k_outer, k_inner = schedule[r].split(k, factor=128)
    i_outer, i_inner = schedule[r].split(r.op.axis[0], factor=7)
    schedule[r].reorder(i_outer, k_outer, i_inner, k_inner)
    schedule[r].parallel(i_outer)
    assert not has_mixed_axis_order(create_schedule(r)[r].record()) and has_mixed_axis_order(
        schedule[r].record()
    )
    assert asked(schedule, r) == [
        ((("i", 7),), {"parallel"}),
        ((("k", 128),), set()),
        ((("i", 1),), set()),
        ((("k", 1),), set()),
    ]


def test_a_grain_is_a_block_for_a_thread() -> None:
    y, schedule = scaled()
    followed_by_their_steps(schedule[y])
    row, column = collect_requested_loops(schedule.record().stage(y.op))
    assert (row.grain, column.grain, column.steps) == (1, 64, 64)


def test_a_record_has_the_placement_of_its_stage() -> None:
    x = placeholder((8, 16), name="x")
    t = compute(x.shape, lambda i, j: x(i, j) + 1, name="t")
    y = compute(x.shape, lambda i, j: t(i, j) * 2, name="y")
    schedule = create_schedule(y)
    found = [placement_of(schedule[t].record())]
    for ask in (schedule[t].compute_root, schedule[t].compute_inline):
        ask()
        found.append(placement_of(schedule[t].record()))
    schedule[t].compute_at(schedule[y], y.op.axis[0])
    assert [*found, placement_of(schedule[t].record())] == ["", "memory", "inline", "row"]


def test_memories_and_instructions_are_for_the_device() -> None:
    y, schedule = scaled()
    assert not is_for_device(schedule.record())
    schedule[y].emit_insn(y.op.axis[0], "vector_muls")
    assert is_for_device(schedule.record())
    y, schedule = scaled()
    schedule.cache_write(y, "local.UB")
    assert is_for_device(schedule.record())


def test_everything_is_told_with_its_line() -> None:
    y, schedule = scaled()
    blocks(schedule[y])
    schedule[y].double_buffer()
    found = list(collect_requests(schedule.record()))
    assert [(one.verb, one.what) for one in found] == [
        ("split", "i by 7"),
        ("split", "j by 128"),
        ("reorder", "i.outer, j.outer, i.inner, j.inner"),
        ("double_buffer", ""),
    ]
    assert all("test_loop_requests.py:" in one.place for one in found)
