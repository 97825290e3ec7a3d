"""Each fault that the host model knows is named with its kind and its line in the kernel."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tbe_impl import load_ascendc
from tbe_impl.ascendc.findings import RunReport
from tbe_impl.ascendc.kernel import AscendcKernel, KernelFault
from tests.cases import cases

KERNEL = Path(__file__).resolve().parents[2] / "programs" / "ascendc" / "planted_faults.cpp"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "ascend_c.md"
LENGTH, BLOCKS = 4096, 4

ERRORS = {
    "overflow": "on_chip_overflow",
    "work_space": "workspace_overflow",
    "past_input": "out_of_range",
    "past_output": "out_of_range",
    "past_buffer": "out_of_range",
    "copy_length": "alignment",
    "start": "alignment",
    "undefined_value": "undefined",
    "undefined_scalar": "undefined",
    "free_twice": "queue",
    "dequeue_empty": "queue",
    "too_deep": "queue",
    "no_buffer": "queue",
    "copy_not_awaited": "hazard",
    "result_not_awaited": "hazard",
    "overwritten": "hazard",
    "wait_without_set": "deadlock",
    "race": "race",
    "deadlock": "deadlock",
    "tail_missing": "not_written",
    "use_after_free": "queue",
    "wrong_queue": "queue",
    "negative_count": "argument",
}
"""Fault of the kernel → kind of the finding."""
WARNINGS = {
    "never_freed": "queue",
    "set_not_awaited": "event",
    "half_overflow": "overflow",
    "integer_overflow": "overflow",
}
LINELESS = {"tail_missing", "never_freed"}
"""Faults that no single line causes."""


@pytest.fixture(scope="module")
def faults() -> list[str]:
    names = re.search(r"enum Fault : int32_t \{(.*?)\}", KERNEL.read_text(), re.DOTALL)
    assert names
    return [one.strip() for one in names[1].split(",") if one.strip()]


def _run(fault: str, faults: list[str], **options: object) -> tuple[AscendcKernel, RunReport]:
    array = ((LENGTH,), "float32")
    kernel = load_ascendc(KERNEL).build(
        array,
        outputs=[array],
        tiling={"fault": faults.index(fault), "length": LENGTH},
        blocks=BLOCKS,
        **options,  # type: ignore[arg-type]
    )
    _, report = kernel.run(np.ones(LENGTH, np.float32))
    return kernel, report


def _line_of(fault: str) -> int:
    lines = KERNEL.read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"// {fault}"))


def test_a_right_kernel_has_no_findings(faults):
    kernel, report = _run("none", faults)
    assert report.findings == ()
    x = np.arange(LENGTH, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x), 2 * x)


@cases("fault, expected", list(ERRORS.items()))
def test_each_fault_is_an_error_with_its_line(fault, expected, faults):
    _, report = _run(fault, faults)
    assert expected in {one.kind for one in report.errors}, report.findings
    found = next(one for one in report.errors if one.kind == expected)
    assert found.remedy
    assert "{" not in found.message
    if fault not in LINELESS:
        assert (found.file, found.line) == (str(KERNEL), _line_of(fault)), found


@cases("fault, expected", list(WARNINGS.items()))
def test_each_warning_has_its_line_and_is_an_error_under_strict(fault, expected, faults):
    kernel, report = _run(fault, faults)
    assert not report.errors
    found = next(one for one in report.findings if one.kind == expected)
    if fault not in LINELESS:
        assert found.line == _line_of(fault)
    strict = kernel.with_options(strict=True)
    with pytest.raises(KernelFault, match=expected):
        strict(np.ones(LENGTH, np.float32))


def test_buffers_bear_the_names_of_the_kernels_variables(faults):
    _, report = _run("none", faults)
    assert [(one.name, one.bytes, one.buffers) for one in report.buffers] == [
        ("inQueue", 4096, 2),
        ("outQueue", 4096, 1),
        ("plainBuf", 4096, 1),
    ]
    text = str(report)
    assert "UB: inQueue, 8,192 bytes (2 × 4,096)" in text
    assert "UB: plainBuf, 4,096 bytes\n" in text


def test_an_overflow_says_who_takes_what(faults):
    _, report = _run("overflow", faults)
    message = report.errors[0].message
    for name in ("inQueue (2 x 4096)", "outQueue", "plainBuf", "largeBuf"):
        assert name in message
    assert "196608" in message


@cases("fault, kind", [*ERRORS.items(), *WARNINGS.items()])
def test_the_page_shows_the_line_and_the_message(fault, kind, faults):
    """Numbers may differ: which core of a race comes second is chance."""
    _, report = _run(fault, faults)
    found = next(one for one in report.findings if one.kind == kind)
    code = ""
    if fault not in LINELESS:
        code = KERNEL.read_text().splitlines()[_line_of(fault) - 1].rsplit("//", 1)[0].strip()
        code = re.sub(r"^if \((?:[^()]|\([^()]*\))*\) ", "", code)
    row = f"| `{kind}` | {f'`{code}`' if code else '–'} | {' '.join(found.message.split())} |"
    rows = re.sub(r"\d+", "N", PAGE.read_text("utf-8")).splitlines()
    assert re.sub(r"\d+", "N", row) in rows, row
