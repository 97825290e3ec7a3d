"""A kernel's report against hand-computed values."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tbe_impl.arguments import Argument
from tbe_impl.chip import auto_schedule
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.schedule_compliance import Outcome
from tbe_impl.compiled import CodeUse
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.errors import MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.kernel_report import ArrayUse, KernelReport, report_of, schedules_of
from tbe_impl.tuning_store import Choice, Tuning
from tests.cases import cases

needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels of this file, each compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(compiled))
    monkeypatch.setenv("MS_FUSION_THREADS", "2")


def kernel(rows: int = 48, columns: int = 64) -> Kernel:
    x = placeholder((rows, columns), "float16", "x")
    y = OPERATIONS["vexp"](OPERATIONS["vabs"](x))
    shape = (rows, columns)
    schedule = auto_schedule.auto_schedule(y)
    return Kernel(
        "expabs", "Ascend910A", (Argument(x, shape, "x"),), (Argument(y, shape, "y"),), schedule
    )


@needs_compiler
def test_a_report_counts_bytes_and_names_the_code() -> None:
    found = kernel().report()
    assert [(use.role, use.name, use.bytes) for use in found.arrays] == [
        ("in", "x", 48 * 64 * 2),
        ("out", "y", 48 * 64 * 2),
    ]
    assert found.bytes_moved == 2 * 48 * 64 * 2
    (schedule,) = found.schedules
    assert {one.verb for one in found.outcomes} >= {"split", "reorder", "bind"}
    assert schedule.bytes_read == schedule.bytes_written == 48 * 64 * 2
    assert found.errors == found.warnings == ()
    assert found.code.symbols == ("k_expabs",) and found.threads == 2
    text = str(found)
    for part in (
        "built for Ascend910A",
        "C function k_expabs",
        "rounding accurate",
        "vector_bits the widest",
        "threads at most 2",
        "local.UB at its fullest",
        "alignment: ",
        "main memory: 6144 bytes read, 6144 bytes written",
        "tuned: no",
    ):
        assert part in text, part


SIZES = (ArrayUse("in", "x", (2, 3), "float16", 12), ArrayUse("out", "y", (-1,), "bool", None))
BARE = KernelReport("k", "CPU", SIZES, None, Options(), 3, "", CodeUse(symbols=("k_a",)), ())
HEADER = """\
kernel k, built for CPU
  in   x  (2, 3) float16, 12 bytes
  out  y  (-1,) bool, a size of call time
"""
OPTIONS = """\
  options: rounding accurate, contract False, vector_bits {}, march {}, accumulators 4, unroll 1, \
jam_factor 0, loop_interchange True, keep_rows True, prefetch True, offset 0, stream_bytes \
16777216, software_pipelining True, loop_fission True, float16_tables True, portions 0, \
parallel_elements 524288, \
threads at most {}, inplace False, stored ()
"""
CODE = "\nthis processor: C function k_a\n"
USUAL = OPTIONS.format("the widest", "this one", 3)
ASKED = Outcome("split", "y", "axis 0", "a.py:3", "followed")
ON_DEVICE = Outcome("bind", "y", "", "a.py:4", "device")


@cases(
    "fields, text",
    [
        ({}, HEADER + CODE + USUAL + "  tuned: no"),
        ({"bytes_moved": 0}, HEADER + "  bytes moved at least: 0\n" + CODE + USUAL + "  tuned: no"),
        (
            {"options": Options(vector_bits=256, march="x86-64-v3"), "threads": 1},
            HEADER + CODE + OPTIONS.format("256", "x86-64-v3", 1) + "  tuned: no",
        ),
        (
            {"tuned": "unroll=2: 0.80 × the time", "code": CodeUse(words=("a", "b"))},
            HEADER
            + "\nthis processor: C function none\n  by a library: a, b\n"
            + USUAL
            + "  tuned: unroll=2: 0.80 × the time",
        ),
        (
            {"code": CodeUse(("k_a",), ("a.so", "b.so")), "outcomes": (ASKED, ON_DEVICE)},
            HEADER
            + CODE
            + USUAL
            + "  tuned: no\n  library: a.so\n  library: b.so\n"
            + f"  loops that the schedule asks for:\n    {ASKED}\n"
            + "    for the device only: 1 × bind",
        ),
        (
            {"code": CodeUse(problem="why."), "problem": "no schedule", "outcomes": (ASKED,)},
            HEADER + "\nthis processor: the NumPy back end, because why.\n\nschedule: no schedule",
        ),
    ],
)
def test_texts_of_reports(fields: dict[str, Any], text: str) -> None:
    assert str(replace(BARE, **fields)) == text


def test_without_a_compiler_it_says_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MissingError("there is no C compiler")

    monkeypatch.setattr("tbe_impl.cpu.prepared_kernel.plan", refuse)
    found = report_of(kernel())
    assert found.code.symbols == () and "there is no C compiler" in found.code.problem
    assert "the NumPy back end, because there is no C compiler" in str(found)


@needs_compiler
@cases(
    "choice, text",
    [({"unroll": 2}, "unroll=2: 0.50 × the time"), ({"threads": 1}, "threads=1: 0.50 × the time")],
)
def test_options_are_those_of_the_kernel(choice: dict[str, int], text: str) -> None:
    tuning = Tuning(
        name="k",
        choice=Choice(**choice),
        default_us=2.0,
        tuned_us=1.0,
        ratio=0.5,
        bound=0.6,
        steps=3,
        seconds=1.0,
    )
    found = report_of(replace(kernel().with_options(vector_bits=256, threads=1), tuning=tuning))
    assert found.tuned == text
    assert (found.options.vector_bits, found.threads) == (256, 1)


@needs_compiler
@cases("given", [None, [], "no schedule", [[None]]], ids=str)
def test_without_a_schedule_the_rest_is_said(given: object) -> None:
    found = report_of(replace(kernel(), schedule=given))
    assert found.schedules == () and "handed over no schedule" in str(found)


def test_schedules_come_alone_or_in_lists() -> None:
    one, two = kernel().schedule, kernel().schedule
    assert schedules_of(replace(kernel(), schedule=[[one], (two, None)])) == (one, two)


@needs_compiler
def test_an_empty_array_needs_no_room() -> None:
    found = report_of(kernel(0, 4))
    assert found.bytes_moved == 0 and not found.problem and not found.errors
    assert [one.bytes_read for one in found.schedules] == [0]
