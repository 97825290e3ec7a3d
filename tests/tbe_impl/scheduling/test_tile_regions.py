"""Tile sizes against enumeration: every step of small loop nests, with its measured reads."""

from __future__ import annotations

import itertools
import random

import pytest

from tbe_impl.chip.auto_schedule import auto_schedule
from tbe_impl.chip.loop_text import show_loops
from tbe_impl.chip.report import report_schedule
from tbe_impl.dsl.expr import Const, Expr, Var, const
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, thread_axis
from tbe_impl.scheduling.added_operations import values_of_axes
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tbe_impl.scheduling.stage_schedule import Stage
from tbe_impl.scheduling.tile_regions import RUNTIME_SIZE, Regions, interval, size_of
from tests.cases import cases

SIZES = (6, 8)


def transposed_with_neighbour() -> tuple[Tensor, Tensor]:
    """y[i, j] = x[j, i] + x[j, i + 1]."""
    x = placeholder((8, 7), name="x")
    return x, compute(SIZES, lambda i, j: x(j, i) + x(j, i + 1), name="y")


def random_loops(stage: Stage, chance: random.Random) -> None:
    """Random splits, fuses and reorders."""
    for _ in range(chance.randint(1, 4)):
        leaves = stage.leaf_iter_vars
        verb = chance.choice(("split", "split", "nparts", "fuse", "reorder"))
        if verb == "reorder":
            stage.reorder(*chance.sample(leaves, len(leaves)))
        elif verb == "fuse" and len(leaves) > 1:
            at = chance.randrange(len(leaves) - 1)
            stage.fuse(leaves[at], leaves[at + 1])
        elif verb == "nparts":
            stage.split(chance.choice(leaves), nparts=chance.randint(1, 4))
        else:
            stage.split(chance.choice(leaves), factor=chance.randint(1, 5))


def walked(schedule: Schedule, y: Tensor, level: int) -> tuple[list[tuple[int, int]], int]:
    """Per step of the loops up to `level`: read rows and columns of x, and the number of active
    steps.
    """
    stage = schedule[y]
    leaves = stage.leaf_iter_vars
    values = values_of_axes(stage.relations)
    found: list[tuple[int, int]] = []
    counts = [range(size_of(leaf.extent)) for leaf in leaves]
    guards = [
        (values.get(id(r.parent), r.parent), size_of(r.parent.extent))
        for r in stage.relations
        if hasattr(r, "parent")
    ]
    for outer in itertools.product(*counts[: level + 1]):
        rows, columns = set(), set()
        for inner in itertools.product(*counts[level + 1 :]):
            now: dict[int, Expr] = {
                id(leaf): const(step) for leaf, step in zip(leaves, (*outer, *inner), strict=True)
            }
            if any(_number(substitute(value, now)) >= limit for value, limit in guards):
                continue
            i, j = (_number(substitute(values.get(id(axis), axis), now)) for axis in y.op.axis)
            rows.add(j)
            columns |= {i, i + 1}
        if rows:
            found.append((max(rows) - min(rows) + 1, max(columns) - min(columns) + 1))
    return found, len(found)


def _number(value: Expr) -> int:
    assert isinstance(value, Const)
    return int(value.value)


@cases("seed", range(60))
def test_a_tile_holds_what_every_step_reads(seed):
    chance = random.Random(seed)
    x, y = transposed_with_neighbour()
    schedule = create_schedule(y)
    x_ub = schedule.cache_read(x, "local.UB", y)
    random_loops(schedule[y], chance)
    level = chance.randrange(len(schedule[y].leaf_iter_vars))
    schedule[x_ub].compute_at(schedule[y], schedule[y].leaf_iter_vars[level])
    regions = Regions(schedule.record())
    copy = regions.record.stage(x_ub.op)
    tile = regions.tile(copy)
    steps, count = walked(schedule, y, level)
    largest = tuple(max(step[at] for step in steps) for at in (0, 1))
    assert all(one >= need for one, need in zip(tile, largest, strict=True)), (tile, largest)
    fused = any(not hasattr(relation, "parent") for relation in schedule[y].relations)
    if not fused:
        assert tile == largest
    if regions.has_whole_tiles(copy):
        assert regions.executions(copy) == count


def test_part_of_a_fused_loop_may_begin_inside_a_row():
    x = placeholder(SIZES, name="x")
    y = compute(SIZES, lambda i, j: x(i, j) + 1, name="y")
    schedule = create_schedule(y)
    x_ub = schedule.cache_read(x, "local.UB", y)
    outer, _ = schedule[y].split(schedule[y].fuse(*y.op.axis), factor=11)
    schedule[x_ub].compute_at(schedule[y], outer)
    regions = Regions(schedule.record())
    # steps 22 to 32 of rows of 8: 22 and 23 of row 2, row 3, 32 of row 4
    assert regions.tile(regions.record.stage(x_ub.op)) == (3, 8)


def test_intervals_of_indices(subtests: pytest.Subtests):
    n = Var("n")
    x = placeholder((8,), "int32", name="x")
    y = compute((4, 5), lambda i, j: x(i) + j, name="y")
    i, j = y.op.axis
    steps = {id(i): 4, id(j): 5}
    expected_of = [
        (i * 3 + j, (0, 13)),
        (j - i, (-3, 4)),
        (i * -2, (-6, 0)),
        (j // 2, (0, 2)),
        (j % 3, (0, 2)),
        (j % 7, (0, 4)),
        (i + n, (0, 3)),
        (x(i) + 0, None),
        (i // n, None),
        ((i + 2).astype("int64"), (2, 5)),
    ]
    for expression, expected in expected_of:
        with subtests.test(str(expression)):
            assert interval(expression, steps) == expected
    assert size_of(n) == RUNTIME_SIZE and size_of(const(3)) == 3


EMPTY = [(0,), (0, 4), (4, 0), (3, 0, 5)]


def cut_by_hand(shape: tuple[int, ...]) -> Schedule:
    x = placeholder(shape, "float16", name="x")
    y = compute(shape, lambda *index: x(*index) + 1, name="y")
    z = compute(shape, lambda *index: y(*index) * 2, name="z")
    schedule = create_schedule(z)
    outer, _ = schedule[z].split(schedule[z].fuse(*z.op.axis), factor=7)
    core, step = schedule[z].split(outer, nparts=4)
    schedule[z].bind(core, thread_axis("blockIdx.x"))
    schedule[y].set_scope("local.UB")
    schedule[y].compute_at(schedule[z], step)
    return schedule


def row_softmax(shape: tuple[int, ...]) -> Schedule:
    power = OPERATIONS["vexp"](placeholder(shape, "float32", name="x"))
    total = OPERATIONS["broadcast"](OPERATIONS["reduce_sum"](power, -1, True), shape)
    return auto_schedule(OPERATIONS["vdiv"](power, total))


@cases("shape", EMPTY, ids=str)
@cases("make", [cut_by_hand, row_softmax])
def test_of_empty_arrays_nothing_is_moved(make, shape):
    schedule = make(shape)
    found = report_schedule(schedule, "Ascend910A")
    assert not found.errors
    assert (found.bytes_read, found.bytes_written) == (0, 0)
    assert "for " in show_loops(schedule) and str(found)
