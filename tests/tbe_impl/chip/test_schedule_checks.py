"""Each check reports a faulty schedule and accepts the right one; bytes are exact sums."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tbe_impl.chip.memory_plan import buffers_of, peak, traffic_of
from tbe_impl.chip.schedule_checks import check
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis, thread_axis
from tbe_impl.errors import InputError
from tbe_impl.scheduling.instructions import (
    DEVICE_INSTRUCTION,
    SCOPES,
    capacity,
    instruction_of_tag,
)
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tbe_impl.scheduling.tile_regions import Regions
from tbe_impl.soc import SOCS
from tests.cases import cases

UB = "local.UB"


class Manual:
    """z = (x + 1) · 2 by a manual schedule, as public optimisers do it: read, add, multiply, write
    by tiles.
    """

    def __init__(
        self,
        rows: int = 64,
        columns: int = 1000,
        *,
        factor: int = 16,
        dtype: str = "float16",
        double: bool = True,
    ):
        self.x = placeholder((rows, columns), dtype, name="x")
        self.y = compute((rows, columns), lambda i, j: self.x(i, j) + 1, name="y")
        self.z = compute((rows, columns), lambda i, j: self.y(i, j) * 2, name="z")
        self.schedule = schedule = create_schedule(self.z.op)
        self.x_ub = schedule.cache_read(self.x, UB, [self.y])
        self.z_ub = schedule.cache_write(self.z, UB)
        schedule[self.y].set_scope(UB)
        self.outer, self.inner = schedule[self.z].split(self.z.op.axis[0], factor=factor)
        for tensor in (self.x_ub, self.y, self.z_ub):
            schedule[tensor].compute_at(schedule[self.z], self.outer)
        if double:
            schedule[self.x_ub].double_buffer()
        schedule[self.z].bind(self.outer, thread_axis("blockIdx.x"))
        self.instructions(schedule)

    def instructions(self, schedule: Schedule) -> None:
        schedule[self.x_ub].emit_insn(self.x_ub.op.axis[0], "dma_copy")
        schedule[self.y].emit_insn(self.y.op.axis[0], "vector_adds")
        schedule[self.z_ub].emit_insn(self.z_ub.op.axis[0], "vector_muls")
        schedule[self.z].emit_insn(self.inner, "dma_copy")

    def bytes_at_once(self) -> int:
        return peak(buffers_of(Regions(self.schedule.record()), block_bytes=32), UB).bytes


def codes(schedule: Schedule, chip: str = "Ascend910A") -> list[str]:
    return [f"{one.severity} {one.code} {one.stage}" for one in check(schedule, chip)]


def test_the_good_schedule_has_no_findings():
    assert check(Manual().schedule, "Ascend910A") == ()


@cases(
    "double, expected",
    [
        (True, 96000),  # x twice: 2 · 16 · 1000 · 2 = 64000; y 32000, reused for z
        (False, 32000),  # y is written over x, and z over y: one buffer of 16 · 1000 · 2
    ],
)
def test_bytes_with_and_without_a_double_buffer(double, expected):
    assert Manual(double=double).bytes_at_once() == expected


def test_a_buffer_of_its_own_is_lent_to_nobody():
    manual = Manual(double=False)
    manual.schedule[manual.y].mem_unique()
    # y keeps its 32000 while z is written; y itself reuses x
    assert manual.bytes_at_once() == 64000


def test_named_reuse_counts_the_larger_once():
    manual = Manual()
    manual.schedule[manual.y].reused_by(manual.z_ub)
    manual.schedule[manual.y].mem_unique()
    assert manual.bytes_at_once() == 96000


def test_storage_align_pads_rows():
    manual = Manual(columns=1001, double=False)
    assert manual.bytes_at_once() == 32032  # 16 · 1001 · 2 = 32032 = 1001 blocks
    for tensor in (manual.x_ub, manual.y, manual.z_ub):
        manual.schedule[tensor].storage_align(tensor.op.axis[0], 16, 0)
    assert manual.bytes_at_once() == 32256  # rows of 1008: 16 · 1008 · 2


def test_storage_align_with_an_offset():
    manual = Manual(columns=1000, double=False)
    manual.schedule[manual.z_ub].storage_align(manual.z_ub.op.axis[0], 512, 1)
    # 1025 = 2 · 512 + 1: 16 · 1025 · 2 = 32800, larger than the buffer to reuse
    buffers = buffers_of(Regions(manual.schedule.record()), block_bytes=32)
    assert [one.bytes for one in buffers] == [32000, 32000, 32800]


def test_fixed_sizes_and_aligned_extents():
    manual = Manual(double=False)
    manual.schedule[manual.y].set_buffer_size(5000)  # 5000 · 2 = 10000 → 313 blocks = 10016
    manual.schedule[manual.z_ub].buffer_align((1, 1), (1, 128))  # 16 · 1024 · 2
    manual.schedule[manual.x_ub].buffer_tile((None, 4), (None, None))  # 4 · 1000 · 2
    buffers = buffers_of(Regions(manual.schedule.record()), block_bytes=32)
    assert [one.bytes for one in buffers] == [8000, 10016, 32768]


def test_a_tile_needs_the_window_around_it():
    x = placeholder((1026,), name="x")
    y = compute((1024,), lambda i: x(i) + x(i + 1) + x(i + 2), name="y")
    schedule = create_schedule(y)
    x_ub = schedule.cache_read(x, UB, y)
    outer, _ = schedule[y].split(y.op.axis[0], factor=64)
    schedule[x_ub].compute_at(schedule[y], outer)
    regions = Regions(schedule.record())
    assert regions.tile(regions.record.stage(x_ub.op)) == (66,)
    assert regions.executions(regions.record.stage(x_ub.op)) == 16
    assert traffic_of(regions).bytes_read == 16 * 66 * 4


def test_tiles_of_fused_loops_and_transposed_reads():
    x = placeholder((40, 30, 20), name="x")
    y = compute((30, 40, 20), lambda i, j, k: x(j, i, k) * 2, name="y")
    schedule = create_schedule(y)
    x_ub = schedule.cache_read(x, UB, y)
    fused = schedule[y].fuse(y.op.axis[0], y.op.axis[1])
    outer, _ = schedule[y].split(fused, factor=80)  # two rows of 40
    schedule[x_ub].compute_at(schedule[y], outer)
    regions = Regions(schedule.record())
    assert regions.tile(regions.record.stage(x_ub.op)) == (40, 2, 20)
    assert regions.executions(regions.record.stage(x_ub.op)) == 15


def test_a_tile_inside_a_reduction():
    x = placeholder((64, 1000), name="x")
    k = reduce_axis((0, 1000), "k")
    r = compute((64,), lambda i: Reduce("sum", x(i, k), [k]), name="r")
    schedule = create_schedule(r)
    x_ub = schedule.cache_read(x, UB, r)
    rows, _ = schedule[r].split(r.op.axis[0], factor=8)
    above, below = schedule[r].split(k, factor=250)
    schedule[r].reorder(rows, above, schedule[r].leaf_iter_vars[1], below)
    schedule[x_ub].compute_at(schedule[r], above)
    regions = Regions(schedule.record())
    assert regions.tile(regions.record.stage(x_ub.op)) == (8, 250)
    assert regions.executions(regions.record.stage(x_ub.op)) == 32
    assert traffic_of(regions).bytes_read == 64 * 1000 * 4


def test_what_is_read_again_for_every_tile_counts_every_time():
    x = placeholder((64, 100), name="x")
    b = placeholder((100,), name="b")
    y = compute((64, 100), lambda i, j: x(i, j) + b(j), name="y")
    schedule = create_schedule(y)
    copies = [schedule.cache_read(tensor, UB, y) for tensor in (x, b)]
    outer, _ = schedule[y].split(y.op.axis[0], factor=8)
    for copy in copies:
        schedule[copy].compute_at(schedule[y], outer)
    # x once: 25600; b for each of 8 tiles: 8 · 400
    assert traffic_of(Regions(schedule.record())).bytes_read == 25600 + 3200


def test_unfused_stages_go_through_main_memory():
    manual = Manual()
    schedule = create_schedule(manual.z.op)
    traffic = traffic_of(Regions(schedule.record()))
    assert (traffic.bytes_read, traffic.bytes_written) == (2 * 128000, 2 * 128000)
    schedule[manual.y].compute_inline()
    traffic = traffic_of(Regions(schedule.record()))
    assert (traffic.bytes_read, traffic.bytes_written) == (128000, 128000)


def bad(change: Callable[[Manual], None], **keywords: int) -> Schedule:
    manual = Manual(**keywords)
    change(manual)
    return manual.schedule


def _attach_to_a_stranger(manual: Manual) -> None:
    schedule = manual.schedule
    schedule[manual.z_ub].compute_at(schedule[manual.y], schedule[manual.y].leaf_iter_vars[0])


def _split_after(manual: Manual) -> None:
    manual.schedule[manual.z].split(manual.outer, factor=2)


# action, chip, finding, parts of its text
BAD: list[tuple[Schedule, str, str, tuple[str, ...]]] = [
    # x twice 2 · 64 · 2000 + y 64 · 2000
    (
        Manual(factor=64).schedule,
        "Ascend910A",
        "error capacity x.local.UB",
        (
            "local.UB of Ascend910A is too small: 146 %",
            "at most 262144 bytes",
            "384000 bytes: x.local.UB 2 × 128000 + y 128000",
        ),
    ),
    # 3 · 36 · 2000 = 216000 of 262144
    (
        Manual(72, factor=36).schedule,
        "Ascend910A",
        "warning capacity x.local.UB",
        ("nearly full: 82 %", "at most 209715 of 262144"),
    ),
    # the same on a chip with 192 KiB
    (
        Manual(72, factor=36).schedule,
        "Ascend910B",
        "error capacity x.local.UB",
        ("too small: 110 %", "at most 196608 bytes"),
    ),
    (
        Manual(64, 1024, factor=24).schedule,
        "Ascend910A",
        "warning division z",
        ("i of z has 64 steps, which 24 does not divide: the last tile has 16", "16 divides it"),
    ),
    (
        bad(lambda m: m.schedule[m.y].emit_insn(m.y.op.axis[1], "vector_addd")),
        "Ascend910A",
        "error emit_insn y",
        ("there is no instruction 'vector_addd'", "The nearest one is 'vector_add'"),
    ),
    (
        bad(lambda m: m.schedule[m.y].emit_insn(m.y.op.axis[1], "vector_not")),
        "Ascend910A",
        "error emit_insn y",
        ("vector_not (vnot) of Ascend910A does not take float16", "int16, uint16"),
    ),
    (
        bad(lambda m: m.schedule[m.y].emit_insn(m.y.op.axis[1], "vector_div")),
        "Ascend310",
        "error emit_insn y",
        (
            "vector_div (vdiv) of Ascend310 does not take float16",
            "nothing: it lacks this instruction",
        ),
    ),
    (
        bad(lambda m: m.schedule[m.y].set_scope("local.ub")),
        "Ascend910A",
        "error scope y",
        ("a memory that does not exist", "'local.ub'", "The nearest one is 'local.UB'"),
    ),
    (
        bad(_attach_to_a_stranger),
        "Ascend910A",
        "error compute_at z.local.UB",
        ("z.local.UB is computed inside y, which does not need it", "z.local.UB goes into z"),
    ),
    (
        bad(_split_after),
        "Ascend910A",
        "error compute_at y",
        ("the loop i.outer of z was split or fused after y was attached",),
    ),
    (
        bad(lambda m: m.schedule[m.z].compute_inline()),
        "Ascend910A",
        "error compute_inline z",
        ("it is an output of the kernel",),
    ),
    (
        bad(lambda m: m.schedule[m.z].set_scope(UB)),
        "Ascend910A",
        "warning scope z",
        ("set_scope of z has no effect", "got an output", 'cache_write(z, "local.UB")'),
    ),
    (
        bad(lambda m: m.schedule[m.z].storage_align(m.z.op.axis[0], 16, 0)),
        "Ascend910A",
        "warning storage_align z",
        ("storage_align of z has no effect", "got one in main memory"),
    ),
    # rows of 1001 elements where 1000 suffice
    (
        bad(lambda m: m.schedule[m.y].storage_align(m.y.op.axis[0], 2, 1)),
        "Ascend910A",
        "warning storage_align y",
        ("rows a multiple of 32 bytes apart, got 2002 bytes", "storage_align(axis, 16, 0) pads"),
    ),
    # tiles of 1 · 1001 · 2 = 2002 bytes on different cores
    (
        Manual(64, 1001, factor=1).schedule,
        "Ascend910A",
        "warning tail z",
        (
            "tiles (1, 1001) of z end inside a block: two cores write into one block",
            "1001 × 2 = 2002 bytes",
            "a multiple of 16 elements",
        ),
    ),
]


@cases("schedule, chip, code, words", BAD)
def test_bad_schedules(schedule, chip, code, words):
    found = [
        one for one in check(schedule, chip) if f"{one.severity} {one.code} {one.stage}" == code
    ]
    assert len(found) == 1, check(schedule, chip)
    assert all(word in str(found[0]) for word in words), str(found[0])
    assert "test_schedule_checks.py:" in found[0].place


def test_a_finding_names_the_line_of_the_call():
    manual = Manual()
    manual.schedule[manual.y].set_scope("local.ub")
    line = manual.schedule[manual.y].scope_place
    assert [one.place for one in check(manual.schedule, "Ascend910A")] == [line]


def test_a_word_may_ask_for_an_instruction_made_of_others():
    """Ascend310 lacks the vdiv instruction, but has the DSL operation."""
    x, y = placeholder((4, 64), "float16", "x"), placeholder((4, 64), "float16", "y")
    quotient = OPERATIONS["vdiv"](x, y)
    schedule = create_schedule(quotient.op)
    schedule[quotient].emit_insn(quotient.op.axis[0], "vector_div")
    check(schedule, "Ascend310", raise_errors=True)


def test_a_walk_through_an_image_takes_no_memory():
    manual = Manual()
    before = sum(
        buffer.bytes for buffer in buffers_of(Regions(manual.schedule.record()), block_bytes=32)
    )
    size = next(
        b.bytes
        for b in buffers_of(Regions(manual.schedule.record()), block_bytes=32)
        if b.name == "y"
    )
    manual.schedule[manual.y].emit_insn(manual.y.op.axis[0], "set_fmatrix")
    after = sum(
        buffer.bytes for buffer in buffers_of(Regions(manual.schedule.record()), block_bytes=32)
    )
    assert size > 0 and after == before - size


def test_a_scalar_may_become_a_vector():
    """Ascend910A lacks vmaxs, but has vmax."""
    manual = Manual()
    manual.schedule[manual.y].emit_insn(manual.y.op.axis[1], "vector_maxs")
    assert not [one for one in check(manual.schedule, "Ascend910A") if one.code == "emit_insn"]


def test_errors_are_raised_when_asked_for():
    with pytest.raises(InputError, match="too small: 146 %") as caught:
        check(Manual(factor=64).schedule, "Ascend910A", raise_errors=True)
    assert caught.value.remedy and "smaller tiles" in caught.value.remedy
    check(Manual(72, factor=36).schedule, "Ascend910A", raise_errors=True)  # a warning only


def test_cpu_has_no_limit_and_knows_no_instruction_table():
    assert check(Manual(factor=64).schedule, "cpu") == ()
    assert codes(bad(lambda m: m.schedule[m.y].set_scope("local.ub")), "cpu") == ["error scope y"]


def rows_of(columns: int) -> tuple[Schedule, Tensor]:
    """A sum of rows, four rows at a time."""
    x = placeholder((64, columns), "float32", name="x")
    k = reduce_axis((0, columns), "k")
    r = compute((64,), lambda i: Reduce("sum", x(i, k), [k]), name="r")
    schedule = create_schedule(r)
    x_ub, r_ub = schedule.cache_read(x, UB, r), schedule.cache_write(r, UB)
    outer, _ = schedule[r].split(r.op.axis[0], factor=8)
    schedule[x_ub].compute_at(schedule[r], outer)
    schedule[r_ub].compute_at(schedule[r], outer)
    return schedule, x_ub


def test_rows_of_a_reduction_start_at_a_block():
    schedule, x_ub = rows_of(1001)
    found = check(schedule, "Ascend910A")
    assert codes(schedule) == ["warning alignment x.local.UB"]
    assert (
        "1001 × 4 = 4004 bytes" in found[0].got
        and "storage_align(axis[0], 8, 0)" in found[0].remedy
    )
    schedule[x_ub].storage_align(x_ub.op.axis[0], 8, 0)
    assert codes(schedule) == [] and codes(rows_of(1000)[0]) == []


def test_a_reduction_cannot_be_inlined():
    x = placeholder((8, 8), name="x")
    k = reduce_axis((0, 8), "k")
    r = compute((8,), lambda i: Reduce("sum", x(i, k), [k]), name="r")
    y = compute((8,), lambda i: r(i) + 1, name="y")
    schedule = create_schedule(y)
    schedule[r].compute_inline()
    assert codes(schedule) == ["error compute_inline r"]


def test_attaching_through_what_is_inlined_and_what_is_inside():
    manual = Manual()
    schedule = create_schedule(manual.z.op)
    x_ub = schedule.cache_read(manual.x, UB, [manual.y])
    schedule[manual.y].compute_inline()
    schedule[x_ub].compute_at(schedule[manual.z], manual.z.op.axis[0])
    assert codes(schedule) == []
    regions = Regions(schedule.record())
    assert regions.tile(regions.record.stage(x_ub.op)) == (1, 1000)


def test_the_names_of_instructions_and_memories():
    known = {name for chip in SOCS.values() for name in chip.instructions}
    named = {name for name in DEVICE_INSTRUCTION.values() if name}
    assert named <= known
    for name in (
        "vector_add vector_exp dma_copy elewise_binary_add phony_insn unified_broadcast "
        "vector_auto mad"
    ).split():
        assert name in DEVICE_INSTRUCTION
    assert (
        instruction_of_tag("elewise_binary_add|mixed") == "vector_add"
        and instruction_of_tag("") == "vector_auto"
    )
    assert {instruction_of_tag(tag) for tag in DEVICE_INSTRUCTION} <= set(DEVICE_INSTRUCTION)
    sizes = {scope: capacity(SOCS["Ascend910A"], scope) for scope in SCOPES}
    assert {scope: size for scope, size in sizes.items() if size} == {
        "local.UB": 262144,
        "local.UB_Fusion": 262144,
        "local.L1": 1048576,
        "local.L1_Fusion": 1048576,
        "local.L0A": 65536,
        "local.L0B": 65536,
        "local.L0C": 262144,
    }


def test_an_operator_brings_its_own_instructions():
    schedule = bad(lambda m: m.schedule[m.y].emit_insn(m.y.op.axis[1], "my_insn"))
    assert codes(schedule) == ["error emit_insn y"]
    assert check(schedule, "Ascend910A", own_instructions={"my_insn"}) == ()


def test_an_output_lies_in_main_memory_whatever_is_said():
    manual = Manual()
    manual.schedule[manual.z].set_scope(UB)
    assert manual.bytes_at_once() == 96000
    assert traffic_of(Regions(manual.schedule.record())).bytes_written == 128000


def test_padding_to_whole_blocks_has_no_findings():
    manual = Manual(columns=1008)
    for tensor in (manual.x_ub, manual.y, manual.z_ub):
        manual.schedule[tensor].storage_align(tensor.op.axis[0], 16, 0)
    manual.schedule[manual.y].set_scope("global")
    manual.schedule[manual.y].set_scope(UB)
    assert check(manual.schedule, "Ascend910A") == ()


def test_an_optimiser_by_hand():
    """A momentum step in optimiser style: two results of one compute, all intermediates cached and
    inlined.
    """
    size, tile = 100_000, 5000
    var, accum, grad = (
        placeholder((size,), "float32", name=name) for name in ("var", "accum", "grad")
    )
    scaled = compute((size,), lambda i: accum(i) * 0.9, name="scaled", tag="elewise_single_VS_mul")
    moment = compute(
        (size,), lambda i: scaled(i) + grad(i), name="moment", tag="elewise_binary_add"
    )
    step = compute((size,), lambda i: var(i) - moment(i), name="step", tag="elewise_binary_sub")
    new_var, _ = compute((size,), lambda i: [step(i), moment(i)], name="outputs")
    schedule = create_schedule(new_var.op)
    reads = {accum: scaled, grad: moment, var: step}
    copies = [schedule.cache_read(tensor, UB, [reader]) for tensor, reader in reads.items()]
    inner = [schedule.cache_write(tensor, UB) for tensor in (scaled, moment, step)]
    for tensor in (scaled, moment, step):
        schedule[tensor].compute_inline()
    outer, rest = schedule[new_var].split(schedule[new_var].op.axis[0], factor=tile)
    core, outer = schedule[new_var].split(outer, nparts=10)
    schedule[new_var].bind(core, thread_axis("blockIdx.x"))
    for copy in (*copies, *inner):
        schedule[copy].compute_at(schedule[new_var], outer)
        schedule[copy].double_buffer()
    for copy in copies:
        schedule[copy].emit_insn(copy.op.axis[0], "dma_copy")
    for made, tensor in zip(inner, (scaled, moment, step), strict=True):
        schedule[made].emit_insn(made.op.axis[0], instruction_of_tag(tensor.op.tag))
    schedule[new_var].emit_insn(rest, "dma_copy")
    assert codes(schedule) == []
    regions = Regions(schedule.record())
    # twice 20000 each: accum (then scaled, then moment), grad, var (then step)
    assert peak(buffers_of(regions, block_bytes=32), UB).bytes == 3 * 40000
    traffic = traffic_of(regions)
    assert (traffic.bytes_read, traffic.bytes_written) == (3 * 400_000, 2 * 400_000)


def test_stages_in_the_unified_buffer_by_hand():
    """An assignment in the oldest style: every stage is a compute in the unified buffer."""
    shape = (100, 1000)
    a, b = (placeholder(shape, "float16", name=name) for name in "ab")
    a_ub = compute(shape, lambda *i: a(*i), name="a_ub")
    b_ub = compute(shape, lambda *i: b(*i), name="b_ub")
    sum_ub = compute(shape, lambda *i: a_ub(*i) + b_ub(*i), name="sum_ub")
    res = compute(shape, lambda *i: sum_ub(*i), name="res")
    schedule = create_schedule(res.op)
    outer, inner = schedule[res].split(res.op.axis[0], factor=10)
    for tensor, name in ((a_ub, "dma_copy"), (b_ub, "dma_copy"), (sum_ub, "vector_add")):
        schedule[tensor].set_scope(UB)
        schedule[tensor].compute_at(schedule[res], outer)
        schedule[tensor].emit_insn(tensor.op.axis[0], name)
    schedule[res].emit_insn(inner, "dma_copy")
    assert codes(schedule) == []
    regions = Regions(schedule.record())
    assert (
        peak(buffers_of(regions, block_bytes=32), UB).bytes == 2 * 20000
    )  # the sum over one operand
    assert traffic_of(regions).bytes_read == 2 * 200_000
