"""The automatic schedule fits the chip, uses its cores, and has minimal traffic and a report."""

from __future__ import annotations

import pytest

from tbe_impl.chip.auto_schedule import auto_schedule
from tbe_impl.chip.loop_text import show_loops
from tbe_impl.chip.report import ScheduleReport, report_schedule
from tbe_impl.chip.tiled_nests import partition_into_nests
from tbe_impl.dsl.expr import Reduce, Var, call
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import DslCall, Tensor, compute, library_stage, placeholder, reduce_axis
from tbe_impl.errors import InputError
from tbe_impl.scheduling.schedule import create_schedule
from tests.cases import cases


def swish(*shape: int, dtype: str = "float16") -> Tensor:
    x = placeholder(shape, dtype, name="x")
    negative = OPERATIONS["vmuls"](x, -1.0)
    made: Tensor = OPERATIONS["vmul"](
        x, OPERATIONS["vrec"](OPERATIONS["vadds"](OPERATIONS["vexp"](negative), 1.0))
    )
    return made


def softmax(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Softmax over the last axis, and its sums."""
    x = placeholder((rows, columns), "float32", name="x")
    k, n = (reduce_axis((0, columns), name) for name in "kn")
    m = compute((rows, 1), lambda i, j: Reduce("max", x(i, k), [k]), name="m")
    e = compute(
        (rows, columns),
        lambda i, j: call("exp", x(i, j) - m(i, 0)),
        name="e",
        tag="elewise_single_exp",
    )
    s = compute((rows, 1), lambda i, j: Reduce("sum", e(i, n), [n]), name="s")
    return compute(
        (rows, columns), lambda i, j: e(i, j) / s(i, 0), name="y", tag="elewise_binary_div"
    ), s


def column_sum(rows: int, columns: int) -> Tensor:
    x = placeholder((rows, columns), "float32", name="x")
    k = reduce_axis((0, rows), "k")
    made: Tensor = compute((columns,), lambda j: Reduce("sum", x(k, j) * 2, [k]), name="r")
    return made


def full_sum(rows: int, columns: int) -> Tensor:
    x = placeholder((rows, columns), "float32", name="x")
    a, b = reduce_axis((0, rows), "a"), reduce_axis((0, columns), "b")
    made: Tensor = compute((1,), lambda j: Reduce("sum", x(a, b), [a, b]), name="r")
    return made


def of(*outputs: Tensor, chip: str = "Ascend910A") -> ScheduleReport:
    return report_schedule(auto_schedule(list(outputs), chip=chip), chip)


def test_an_elementwise_chain_by_exact_numbers():
    found = of(swish(16384, 1024))
    tiles = {stage.name.split("_")[0]: stage for stage in found.stages}
    assert tiles["x.local.UB"].tile == (32, 1024) and tiles["x.local.UB"].copies == 2
    # x twice 2 · 65536; one more buffer, which all stages share
    assert [(one.scope, one.bytes, one.capacity_bytes) for one in found.memories] == [
        ("local.UB", 196608, 262144)
    ]
    assert found.cores == 32 and tiles["x.local.UB"].executions == 512
    assert (found.bytes_read, found.bytes_written) == (33554432, 33554432)
    assert found.findings == ()


CASES = {
    "chain": lambda: [swish(16384, 1024)],
    "a chain smaller than the cores": lambda: [swish(3, 5)],
    "one number": lambda: [swish(1)],
    "a long vector": lambda: [swish(16_777_216)],
    "a prime": lambda: [swish(1_000_003)],
    "many axes": lambda: [swish(2, 3, 5, 7, 11, 16)],
    "softmax": lambda: [softmax(4096, 1000)[0]],
    "softmax and its sums": lambda: list(softmax(4096, 1000)),
    "softmax of odd rows": lambda: [softmax(130, 1001)[0]],
    "columns": lambda: [column_sum(100_000, 64)],
    "everything": lambda: [full_sum(1000, 1000)],
}


@cases("chip", ["Ascend310", "Ascend310P3", "Ascend910A", "Ascend910B1"])
@cases("name", CASES)
def test_own_schedules_fit_and_move_each_byte_once(name, chip):
    outputs = CASES[name]()
    found = of(*outputs, chip=chip)
    assert found.errors == () and all(one.code != "capacity" for one in found.findings)
    assert all(one.share is not None and one.share <= 0.8 for one in found.memories)
    assert found.bytes_read is not None and found.bytes_written is not None
    assert found.bytes_read + found.bytes_written == found.least_bytes


def test_rows_that_do_not_fit_go_through_main_memory_again():
    y, _ = softmax(16, 100_000)  # a row is 400000 bytes
    found = of(y)
    assert found.errors == () and max(one.share or 0 for one in found.memories) <= 0.8
    # x for the maximum and for exp, exp for the sum and for the quotient: 4 · 6.4 MB;
    # m and s: 16 · 4, by step
    assert found.bytes_read is not None and found.bytes_read >= 4 * 6_400_000
    assert found.bytes_written == 2 * 6_400_000 + 2 * 64


def test_rows_of_odd_length_are_padded_to_blocks():
    found = of(softmax(130, 1001)[0])
    copy = next(stage for stage in found.stages if stage.name == "x.local.UB")
    rows = copy.tile[0]
    assert rows and copy.bytes == rows * 1008 * 4 and copy.padding_bytes == rows * 7 * 4
    assert not any(one.code == "alignment" for one in found.findings)


def test_a_reduction_over_the_first_axis_is_computed_once():
    x = placeholder((512, 4096), "float32", name="x")
    k = reduce_axis((0, 512), "k")
    m = compute((1, 4096), lambda i, j: Reduce("max", x(k, j), [k]), name="m")
    y = compute((512, 4096), lambda i, j: x(i, j) - m(0, j), name="y")
    found = of(y)
    # split along j: a tile has all 512 rows, so x is read once
    assert found.bytes_read == 512 * 4096 * 4 and "j" in found.core_axis
    assert next(stage for stage in found.stages if stage.name == "m").tile[0] == 1


def test_nests_end_at_libraries_and_at_what_two_nests_share():
    x = placeholder((64, 64), "float16", name="x")
    a = compute((64, 64), lambda i, j: x(i, j) + 1, name="a")
    (b,) = library_stage("b", [(64, 64)], ["float16"], DslCall("matmul", (a, a)))
    c = compute((64, 64), lambda i, j: b(i, j) * a(i, j), name="c")
    nests = partition_into_nests([c])
    assert [[op.name for op in nest.members] for nest in nests] == [["a"], ["c"]]
    # x, twice a, and b for c: 4 reads, the library's write and two nest writes; an operation reads
    # an operand once
    found = of(c)
    assert (found.bytes_read, found.bytes_written) == (4 * 8192, 3 * 8192)


def test_outputs_of_one_shape_share_a_nest_and_others_do_not():
    x = placeholder((64, 1000), "float32", name="x")
    a = compute((64, 1000), lambda i, j: x(i, j) + 1, name="a")
    b = compute((64, 1000), lambda i, j: a(i, j) * 2, name="b")
    c = compute((7,), lambda i: x(i, 0), name="c")
    assert [[op.name for op in nest.results] for nest in partition_into_nests([b, a])] == [
        ["b", "a"]
    ] or [["a", "b"]]
    assert len(partition_into_nests([a, b])) == 1 and len(partition_into_nests([a, b, c])) == 2
    found = of(a, b)
    assert found.bytes_read == 256000 and found.bytes_written == 512000


def test_a_result_that_another_nest_reads_has_tiles_of_its_own():
    x = placeholder((70_000,), "float32", name="x")
    a = compute((70_000,), lambda i: x(i) + 1, name="a")
    b = compute((70_000,), lambda i: a(i) * 2, name="b")
    k = reduce_axis((0, 70_000), "k")
    s = compute((1,), lambda i: Reduce("sum", b(k), [k]), name="s")
    found = of(a, b, s)
    # x for a and b, and b once more for the sum
    assert found.errors == () and found.bytes_read == 2 * 280_000
    assert found.bytes_written == 2 * 280_000 + 4


def test_sizes_of_run_time_are_said_to_be_so():
    n = Var("n")
    x = placeholder((n, 1024), "float16", name="x")
    found = of(OPERATIONS["vexp"](x))
    assert (
        found.bytes_read is None
        and found.findings == ()
        and "a size of run time read" in str(found)
    )
    assert next(one.share for one in found.memories) <= 0.8  # type: ignore[operator]


def test_cpu_cuts_nothing_and_moves_each_byte_once():
    y, _ = softmax(4096, 1000)
    found = of(y, chip="cpu")
    assert found.memories == () and found.cores == 1 and found.findings == ()
    assert (found.bytes_read, found.bytes_written) == (16384000, 16384000)


def test_a_plan_is_made_when_it_is_asked_for():
    schedule = auto_schedule(swish(64, 64))
    assert schedule._plan is not None
    schedule.cce_special = {"tensor_list": []}
    assert schedule.outputs and schedule._plan is not None
    assert len(schedule.stages) == 8 and schedule._plan is None


def test_bad_input():
    with pytest.raises(InputError, match="auto_schedule takes tensors"):
        auto_schedule([1])
    with pytest.raises(InputError, match="unknown chip"):
        auto_schedule(swish(8), chip="Ascend9")


GOLDEN_REPORT = """\
schedule on Ascend910A: 32 cores share i.outer.outer of y

stage       memory    tile        dtype    bytes     times  instruction        inside
x.local.UB  local.UB  (2, 1000)   float32  2 × 8000  32     dma_copy           y: i.outer.inner
m           local.UB  (2, 1)      float32  32        32     vector_reduce_max  y: i.outer.inner
e           local.UB  (2, 1000)   float32  8000      32     vector_exp         y: i.outer.inner
s           local.UB  (2, 1)      float32  32        32     vector_reduce_sum  y: i.outer.inner
y.local.UB  local.UB  (2, 1000)   float32  8000      32     vector_div         y: i.outer.inner
y           global    (64, 1000)  float32  256000    1      dma_copy

local.UB at its fullest: 24032 bytes of 262144 (9 %)
main memory: 256000 bytes read, 256000 bytes written \
(1.00 × reading each input and writing each output once)
alignment: 48 bytes of padding
no errors, no warnings"""
# at the peak: x twice 2 · 8000, e 8000, s 32; y is written over e

GOLDEN_LOOPS = """\
input x (60, 1000) float16
output r (60,) float16
for i.outer in 0..9:  # parallel
  r[i] = 0 for every i.inner
  for k.outer in 0..8:
    for i.inner in 0..7:
      for k.inner in 0..128:  # unroll
        i = (i.outer * 7) + i.inner
        k = (k.outer * 128) + k.inner
        if k < 1000 and i < 60:
          r[i] = r[i] + x[i, k] + 1.0
"""

GOLDEN_TILES = """\
input x (64, 1000) float32
output y (64, 1000) float32
for i.outer.outer in 0..32:  # blockIdx.x
  for i.outer.inner in 0..1:
    stage x.local.UB (2, 1000) float32, in local.UB, double_buffer
    for i0 in 0..2:  # dma_copy
      for i1 in 0..1000:
        x.local.UB[i0, i1] = x[i0, i1]
    stage m (2, 1) float32, in local.UB
    for i in 0..2:  # vector_reduce_max
      for j in 0..1:
        m[i, j] = -inf
        for k in 0..1000:
          m[i, j] = max(m[i, j], x.local.UB[i, k])
    stage e (2, 1000) float32, in local.UB
    for i in 0..2:  # vector_exp
      for j in 0..1000:
        e[i, j] = exp((x.local.UB[i, j] - m[i, 0]))
    stage s (2, 1) float32, in local.UB
    for i in 0..2:  # vector_reduce_sum
      for j in 0..1:
        s[i, j] = 0
        for n in 0..1000:
          s[i, j] = s[i, j] + e[i, n]
    stage y.local.UB (2, 1000) float32, in local.UB
    for i.c in 0..2:  # vector_div
      for j.c in 0..1000:
        y.local.UB[i.c, j.c] = e[i.c, j.c] / s[i.c, 0]
    for i.inner in 0..2:
      for j in 0..1000:
        i = ((i.outer.outer + i.outer.inner) * 2) + i.inner
        y[i, j] = y.local.UB[i, j]
"""


def test_the_report_and_the_loops_as_text(subtests: pytest.Subtests):
    y, _ = softmax(64, 1000)
    with subtests.test("report"):
        assert str(of(y)) == GOLDEN_REPORT
    with subtests.test("loops"):
        assert show_loops(auto_schedule(y)) == GOLDEN_TILES


def manual() -> tuple[Tensor, Tensor, object]:
    x = placeholder((60, 1000), "float16", name="x")
    k = reduce_axis((0, 1000), "k")
    y = compute((60, 1000), lambda i, j: x(i, j) + 1, name="y")
    r = compute((60,), lambda i: Reduce("sum", y(i, k), [k]), name="r")
    schedule = create_schedule(r)
    schedule[y].compute_inline()
    k_outer, k_inner = schedule[r].split(k, factor=128)
    i_outer, i_inner = schedule[r].split(r.op.axis[0], factor=7)
    schedule[r].reorder(i_outer, k_outer, i_inner, k_inner)
    schedule[r].unroll(k_inner)
    schedule[r].parallel(i_outer)
    return y, r, schedule


def test_manual_loops_as_text():
    assert show_loops(manual()[2]) == GOLDEN_LOOPS  # type: ignore[arg-type]
