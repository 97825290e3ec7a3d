"""Manual schedules of operators reach the C, the report and the tuner; results are unchanged."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tbe_impl import tuning_store
from tbe_impl.cli.arguments import ArrayDescription
from tbe_impl.cli.commands import Request
from tbe_impl.cli.show import show
from tbe_impl.codegen.options import DEFAULT_OPTIONS, Options
from tbe_impl.kernel import Kernel
from tbe_impl.kernel_report import outcomes_of
from tbe_impl.loading.operator import load_operator
from tbe_impl.tuning_store import Choice
from tests.cases import FULL, cases

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")

SOURCE = """
from te import tvm
from te.platform.cce_build import build_config


def smooth(x, y, kernel_name="smooth"):
    rows, columns = x["shape"]
    data = tvm.placeholder((rows, columns), name="data", dtype=x["dtype"])
    power = tvm.compute((rows, columns), lambda i, j: tvm.exp(data(i, j)), name="power")
    res = tvm.compute((rows - 1, columns), lambda i, j: power(i, j) + power(i + 1, 0), name="res")
    sch = tvm.create_schedule(res.op)
    sch[power].compute_root()
    outer, inner = sch[res].split(res.op.axis[0], factor=4)
    sch[res].parallel(outer)
    sch[res].unroll(inner)
    sch[res].vectorize(res.op.axis[1])
    with build_config:
        tvm.build(sch, [data, res], "cce", name=kernel_name)
"""


SUMS = """
from te import tvm
from te.platform.cce_build import build_config


def total(x, y, kernel_name="total"):
    rows, columns = x["shape"]
    data = tvm.placeholder((rows, columns), name="data", dtype=x["dtype"])
    k = tvm.reduce_axis((0, columns), name="k")
    res = tvm.compute((rows,), lambda i: tvm.sum(data[i, k], axis=k), name="res")
    sch = tvm.create_schedule(res.op)
    outer, inner = sch[res].split(k, factor=64)
    part = sch.rfactor(res, outer)
    sch[part].reorder(part.op.axis[1], part.op.axis[0])
    sch[part].parallel(part.op.axis[1])
    copy = sch.cache_read(data, "MEMORY", [part])
    sch[copy].compute_at(sch[part], part.op.axis[0])
    with build_config:
        tvm.build(sch, [data, res], "cce", name=kernel_name)
"""


@cases(
    "memory, soc, followed",
    [
        ("global", "Ascend910A", True),
        ("local.UB", "Ascend910A", False),
        pytest.param("local.UB", "cpu", True, marks=FULL),
    ],
)
def test_sums_in_two_steps_with_a_tile(
    memory: str,
    soc: str,
    followed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    full: bool,
) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    place = tmp_path / f"{memory}-{soc}" / "total.py"
    place.parent.mkdir()
    place.write_text(SUMS.replace("MEMORY", memory), "utf-8")
    kernel = load_operator(place).build(
        described(33), {**described(33), "shape": (33,), "ori_shape": (33,)}, soc=soc
    )
    verdicts = {one.verb: one.verdict for one in outcomes_of(kernel)}
    assert verdicts["rfactor"] == ("followed" if followed else "device")
    assert bool(kernel.scheduled) == ("_nest1" in kernel.source) == followed
    assert ("char *rows" in kernel.source) == followed
    x = np.random.default_rng(0).uniform(-2, 2, (33, 300)).astype(np.float32)
    wanted = x.sum(axis=1, dtype=np.float64)
    # the narrow one, for loops of an applied schedule
    narrow = [kernel.with_options(vector_bits=128)] if full or followed else []
    for one in (kernel, *narrow):
        np.testing.assert_allclose(one(x), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(kernel(x, backend="numpy"), wanted, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels of this file, each compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def file(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(compiled))
    place = tmp_path / "smooth.py"
    place.write_text(SOURCE, "utf-8")
    return place


def described(rows: int) -> dict[str, object]:
    shape = (rows, 300)
    return {
        "shape": shape,
        "dtype": "float32",
        "format": "ND",
        "ori_shape": shape,
        "ori_format": "ND",
    }


def built(file: Path) -> Kernel:
    return load_operator(file).build(described(33), described(32))


def test_requests_become_options_and_results_stay(file: Path) -> None:
    kernel = built(file)
    assert kernel.options.stored == (0,) and len(kernel.options.orders) == 1
    assert "#pragma GCC unroll 4" in kernel.source and ".grain = 4" in kernel.source
    x = np.random.default_rng(0).uniform(-2, 2, (33, 300)).astype(np.float32)
    np.testing.assert_array_equal(kernel(x), replace(kernel, options=DEFAULT_OPTIONS)(x))
    power = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(kernel(x), power[:-1] + power[1:, :1], rtol=1e-6)


def test_the_report_has_a_line_for_each_request(file: Path) -> None:
    kernel = built(file)
    assert {one.verb: one.verdict for one in outcomes_of(kernel)} == dict.fromkeys(
        ("compute_root", "split", "parallel", "unroll", "vectorize"), "followed"
    )
    text = str(kernel.report())
    assert "loops that the schedule asks for:" in text
    assert "smooth.py:13: split of res (i by 4)" in text


def test_loops_of_the_schedule_and_of_the_c_are_shown(file: Path) -> None:
    text = show(Request(str(file), (ArrayDescription((33, 300), "float32"),)))
    theirs, ours = text.split("==== C ====")[0].split("-- on this processor --")
    assert "for i.outer in 0..8:  # parallel" in theirs
    assert "for i in 0..32:  # threads share it, 4 steps at least; 4 at once" in ours
    assert "  for j in 0..300:  # vectors" in ours


def test_another_width_or_rounding_keeps_the_loops(file: Path) -> None:
    kernel = built(file)
    narrow = kernel.with_options(vector_bits=128)
    assert narrow.options == replace(kernel.options, vector_bits=128)
    x = np.ones((33, 300), np.float32)
    np.testing.assert_allclose(narrow(x), kernel(x, rounding="device"), rtol=1e-6)


def test_what_is_tuned_is_added_to_what_the_schedule_asks_for(file: Path) -> None:
    asked = built(file).options
    chosen = Choice(stored=(2,), unroll=4).options(asked)
    assert chosen == replace(asked, stored=(0, 2), unroll=4)
    assert Choice().options(Options(stored=(1,))).stored == (1,)


def test_what_was_tuned_without_a_schedule_is_for_none_with_one(file: Path) -> None:
    kernel = built(file)
    assert tuning_store.key_of(kernel) != tuning_store.key_of(
        replace(kernel, options=DEFAULT_OPTIONS)
    )
    assert tuning_store.apply_tuning(kernel) is kernel
