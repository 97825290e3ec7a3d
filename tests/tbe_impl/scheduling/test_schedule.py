"""A schedule records the primitives of operators in order and does not change the graph."""

from __future__ import annotations

import pytest

from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis, thread_axis
from tbe_impl.errors import InputError
from tbe_impl.scheduling.records import Fuse, Split
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tests.cases import cases

HERE = "test_schedule.py"


def chain() -> tuple[Tensor, Tensor, Tensor]:
    """z = (x + 1) · 2 of (64, 1000) float16."""
    x = placeholder((64, 1000), "float16", name="x")
    y = compute((64, 1000), lambda i, j: x(i, j) + 1, name="y")
    return x, y, compute((64, 1000), lambda i, j: y(i, j) * 2, name="z")


def row_sum(rows: int = 64, columns: int = 1000) -> tuple[Tensor, Tensor]:
    """r[i] = Σ_k x[i, k]."""
    x = placeholder((rows, columns), "float32", name="x")
    k = reduce_axis((0, columns), "k")
    return x, compute((rows,), lambda i: Reduce("sum", x(i, k), [k]), name="r")


def names(schedule: Schedule, tensor: Tensor) -> list[str]:
    return [leaf.name for leaf in schedule[tensor].leaf_iter_vars]


def test_split_by_factor_and_by_parts():
    _, _, z = chain()
    schedule = create_schedule(z.op)
    outer, inner = schedule[z].split(z.op.axis[1], factor=300)
    assert (outer.extent.value, inner.extent.value) == (4, 300)  # 1000 = 3 · 300 + 100
    parts, rest = schedule[z].split(z.op.axis[0], nparts=6)
    assert (parts.extent.value, rest.extent.value) == (6, 11)  # 64 = 5 · 11 + 9
    assert names(schedule, z) == ["i.outer", "i.inner", "j.outer", "j.inner"]


def test_a_factor_beyond_the_axis_is_the_axis():
    _, _, z = chain()
    outer, inner = create_schedule(z)[z].split(z.op.axis[0], factor=100)
    assert (outer.extent.value, inner.extent.value) == (1, 64)


def test_fuse_reorder_tile():
    _, _, z = chain()
    schedule = create_schedule([z.op])
    stage = schedule[z]
    x_outer, y_outer, x_inner, y_inner = stage.tile(*z.op.axis, 8, 250)
    assert names(schedule, z) == ["i.outer", "j.outer", "i.inner", "j.inner"]
    stage.reorder(y_inner, x_inner)
    assert names(schedule, z) == ["i.outer", "j.outer", "j.inner", "i.inner"]
    fused = stage.fuse(x_outer, y_outer)
    assert fused.extent.value == 32  # 64 / 8 · 1000 / 250
    assert names(schedule, z) == ["i.outer.j.outer.fused", "j.inner", "i.inner"]
    kinds = [type(relation) for relation in schedule.record().stage(z.op).relations]
    assert kinds == [Split, Split, Fuse]


def test_fuse_takes_many_and_a_list():
    x = placeholder((2, 3, 5), name="x")
    y = compute((2, 3, 5), lambda *i: x(*i) + 1, name="y")
    assert create_schedule(y)[y].fuse(*y.op.axis).extent.value == 30
    assert create_schedule(y)[y].fuse(list(y.op.axis)).extent.value == 30


def test_copies_stand_between_and_leave_the_graph_alone():
    x, y, z = chain()
    before = (y.op.body, z.op.body)
    schedule = create_schedule(z.op)
    x_ub = schedule.cache_read(x, "local.UB", [y])
    z_ub = schedule.cache_write(z, "local.UB")
    assert [stage.op.name for stage in schedule.stages] == [
        "x",
        "x.local.UB",
        "y",
        "z.local.UB",
        "z",
    ]
    assert [str(stage.op.body) for stage in schedule.stages[1:]] == [
        "(x[i0, i1],)",
        "((x.local.UB[i, j] + 1.0),)",
        "((y[i.c, j.c] * 2.0),)",
        "(z.local.UB[i, j],)",
    ]
    assert schedule[z].op.axis == z.op.axis and schedule[z_ub].op is z_ub.op
    assert schedule[x_ub].scope == schedule[z_ub].scope == "local.UB"
    assert (y.op.body, z.op.body) == before and y.op.input_tensors == (x,)


def test_after_a_write_the_computation_reads_and_not_the_copy():
    x, y, z = chain()
    schedule = create_schedule(z.op)
    y_ub = schedule.cache_write(y, "local.UB")
    with pytest.raises(InputError, match="y does not read it"):
        schedule.cache_read(x, "local.UB", y)
    x_ub = schedule.cache_read(x, "local.UB", y_ub)
    assert schedule[y_ub].op.input_tensors == (x_ub,)


def test_outputs_of_one_stage_move_together():
    x = placeholder((64,), name="x")
    a, b = compute((64,), lambda i: [x(i) + 1, x(i) * 2], name="two")
    schedule = create_schedule(a.op)
    copies = schedule.cache_write([a, b], "local.UB")
    assert [copy.name for copy in copies] == ["two.local.UB.v0", "two.local.UB.v1"]
    assert str(schedule[a].op.body) == "(two.local.UB.v0[i], two.local.UB.v1[i])"


def test_rfactor_keeps_a_loop_and_guards_its_tail():
    _, r = row_sum()
    schedule = create_schedule(r)
    _, inner = schedule[r].split(r.op.reduce_axis[0], factor=128)
    first = schedule.rfactor(r, inner)
    assert [size.value for size in first.shape] == [128, 64]
    body = first.op.body[0]
    assert isinstance(body, Reduce)
    # 8 · 128 = 1024 steps for 1000 elements
    assert str(body) == "sum(x[i, ((k.outer * 128) + k.inner)] over k.outer)"
    assert str(body.condition) == "(((k.outer * 128) + k.inner) < 1000)"
    assert str(schedule[r].op.body) == "(sum(r.rf[k.inner.v, i] over k.inner.v),)"
    assert [axis.name for axis in schedule[r].op.reduce_axis] == ["k.inner.v"]
    assert names(schedule, r) == ["i", "k.inner.v"]


def test_rfactor_of_what_divides_needs_no_guard():
    _, r = row_sum(columns=1024)
    schedule = create_schedule(r)
    _, inner = schedule[r].split(r.op.reduce_axis[0], factor=128)
    first = schedule.rfactor(r, inner, factor_axis=-1)
    assert [size.value for size in first.shape] == [64, 128]
    assert first.op.body[0].condition is None


def test_everything_is_recorded_with_its_line():
    x, y, z = chain()
    schedule = create_schedule(z.op)
    z_ub = schedule.cache_write(z, "local.UB")
    stage = schedule[z_ub]
    stage.storage_align(z_ub.op.axis[0], 16, 0)
    stage.double_buffer()
    stage.mem_unique()
    stage.buffer_tile((None, 16), (None, None))
    stage.preload()
    stage.emit_insn(z_ub.op.axis[0], "vector_muls", attrs={"no_overlap": 1})
    schedule[y].compute_inline()
    outer, _ = schedule[z].split(z.op.axis[0], nparts=8)
    schedule[z].bind(outer, thread_axis("blockIdx.x"))
    schedule[z].pragma(outer, "json_info_batchBindOnly")
    schedule[z].parallel(outer)
    schedule[z_ub].compute_at(schedule[z], outer)
    schedule.set_var_range(x, 1, 2)
    record = schedule.record()
    given = [directive.name for directive in record.stage(z_ub.op).directives]
    assert given == [
        "storage_align",
        "double_buffer",
        "mem_unique",
        "buffer_tile",
        "preload",
        "emit_insn",
    ]
    assert [one.name for one in record.stage(z.op).directives] == ["bind", "pragma", "parallel"]
    assert record.stage(y.op).inlined
    attach = record.stage(z_ub.op).attach
    assert attach is not None and attach.axis is outer and HERE in attach.place
    assert all(HERE in one.place for one in record.stage(z_ub.op).directives)
    assert record.directives[0].value[1:] == (1, 2)


def test_a_frozen_record_does_not_follow_the_schedule():
    _, _, z = chain()
    schedule = create_schedule(z.op)
    before = schedule.record()
    schedule[z].split(z.op.axis[0], 4)
    assert len(before.stage(z.op).leaves) == 2 and len(schedule[z].leaf_iter_vars) == 3


def test_schedules_take_attributes_of_operators():
    _, _, z = chain()
    schedule = create_schedule(z)
    schedule.cce_special = {"tensor_list": [z]}
    assert schedule.cce_special["tensor_list"] == [z]
    assert not hasattr(schedule, "tiling_key") and schedule.normalize() is schedule
    assert schedule.outputs == [z.op]


def _split_twice(schedule: Schedule, x: Tensor, y: Tensor, z: Tensor) -> None:
    schedule[z].split(z.op.axis[0], 4)
    schedule[z].split(z.op.axis[0], 4)


MISTAKES = [
    (lambda s, x, y, z: s[z].tensorise(), "a stage has no `tensorise`", "compute_at"),
    (lambda s, x, y, z: s.cash_read(), "a schedule has no `cash_read`", "cache_read"),
    (
        lambda s, x, y, z: s[z].split(z.op.axis[0]),
        "split of i takes a factor or a number of parts",
        "neither",
    ),
    (
        lambda s, x, y, z: s[z].split(z.op.axis[0], 0),
        "cannot be split so",
        "a positive whole number",
    ),
    (_split_twice, "split: i is not a loop of stage z", "It was split into i.outer and i.inner"),
    (
        lambda s, x, y, z: s[z].split(y.op.axis[0], 4),
        "split: i is not a loop of stage z",
        "schedule[…].op.axis of z",
    ),
    (lambda s, x, y, z: s[z].reorder(z.op.axis[0], z.op.axis[0]), "names a loop twice", "i, i"),
    (
        lambda s, x, y, z: s[z].compute_at(s[z], z.op.axis[0]),
        "z cannot be computed inside itself",
        "",
    ),
    (
        lambda s, x, y, z: s[y].compute_at(z, z.op.axis[0]),
        "compute_at of y takes a stage",
        "schedule[tensor]",
    ),
    (
        lambda s, x, y, z: s[z].emit_insn(y.op.axis[0], "dma_copy"),
        "emit_insn: i is not a loop of stage z",
        "",
    ),
    (
        lambda s, x, y, z: s[z].storage_align(y.op.axis[0], 16, 0),
        "storage_align: i is not an axis of stage z",
        "",
    ),
    (
        lambda s, x, y, z: s[z].bind(z.op.axis[0], "blockIdx.x"),
        "bind of i takes an axis of cores",
        "thread_axis",
    ),
    (
        lambda s, x, y, z: s[z].buffer_tile((None,)),
        "buffer_tile of z takes one pair for each axis",
        "(None,)",
    ),
    (
        lambda s, x, y, z: s[z].set_buffer_size(),
        "set_buffer_size of z takes a number of elements",
        "one argument",
    ),
    (
        lambda s, x, y, z: s.cache_read(x, "local.UB", [z]),
        "cache_read of x: z does not read it",
        "reads y",
    ),
    (
        lambda s, x, y, z: s.cache_write(x, "local.UB"),
        "nothing computes an input",
        "cache_read copies an input",
    ),
    (lambda s, x, y, z: s.rfactor(z, z.op.axis[0]), "i is not a reduce loop", "reduce_axis"),
    (lambda s, x, y, z: s[chain()[0]], "x is not part of this schedule", "one of x, y, z"),
    (lambda s, x, y, z: s["z"], "a schedule is indexed by a tensor or an operation", "'z'"),
    (lambda s, x, y, z: create_schedule("z"), "create_schedule takes operations", "str"),
    (
        lambda s, x, y, z: create_schedule([]),
        "create_schedule takes at least one operation",
        "none",
    ),
]


@cases("mistake, what, more", MISTAKES)
def test_mistakes_name_the_line_and_the_remedy(mistake, what, more):
    x, y, z = chain()
    schedule = create_schedule(z.op)
    with pytest.raises(InputError) as caught:
        mistake(schedule, x, y, z)
    assert (
        what in str(caught.value) and more in str(caught.value) and HERE in str(caught.value.place)
    )


def test_fuse_of_loops_apart():
    x = placeholder((2, 3, 5), name="x")
    y = compute((2, 3, 5), lambda *i: x(*i) + 1, name="y")
    with pytest.raises(InputError, match="do not follow each other"):
        create_schedule(y)[y].fuse(y.op.axis[0], y.op.axis[2])


def test_rfactor_takes_one_loop():
    _, r = row_sum()
    with pytest.raises(InputError, match="one loop at a time"):
        create_schedule(r).rfactor(r, [r.op.reduce_axis[0], r.op.axis[0]], [0, 1])
