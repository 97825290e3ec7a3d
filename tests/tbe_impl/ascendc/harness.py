"""Builds the Ascend C test programs, and finds their cases and their lines."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np

from tbe_impl.ascendc.findings import Finding, RunReport
from tbe_impl.ascendc.kernel import AscendcKernel, load_ascendc

PROGRAMS = Path(__file__).resolve().parents[2] / "programs" / "ascendc"
_CASE = re.compile(r'\bCASE\((\d+), "(\w+)"')
RELATIVE = {
    "float32": 2e-6,
    "float16": 2e-3,
    "int16": 0.0,
    "int32": 0.0,
    "uint16": 0.0,
    "uint8": 0.0,
}


@lru_cache
def case_lines(program: str) -> dict[str, tuple[int, int]]:
    """Name of each CASE of a program → its number and its line."""
    text = (PROGRAMS / f"{program}.cpp").read_text(encoding="utf-8")
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        for one in _CASE.finditer(line):
            assert one[2] not in found, f"two cases {one[2]}"
            found[one[2]] = int(one[1]), number
    return found


@lru_cache
def build(program: str, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> AscendcKernel:
    """Compiles a program whose tensors are bytes."""
    return load_ascendc(PROGRAMS / f"{program}.cpp").build(
        *(((size,), "uint8") for size in inputs),
        outputs=[((size,), "uint8") for size in outputs],
        arguments={"dtype": 0, "which": 0},
        blocks=1,
    )


def run_case(
    program: str,
    name: str,
    *arrays: np.ndarray,
    out_bytes: int,
    dtype: int = 0,
    blocks: int = 1,
    out: np.ndarray | None = None,
    which: int | None = None,
) -> tuple[np.ndarray, RunReport]:
    """Runs one CASE (or the number `which`); returns the bytes of the output and the report."""
    kernel = build(program, tuple(one.nbytes for one in arrays), (out_bytes,))
    kernel = kernel.with_options(
        arguments={
            "dtype": str(dtype),
            "which": str(case_lines(program)[name][0] if which is None else which),
        },
        blocks=blocks,
    )
    given = None if out is None else [out.view(np.uint8).reshape(-1)]
    outputs, report = kernel.run(*(one.view(np.uint8).reshape(-1) for one in arrays), out=given)
    return outputs[0], report


def check_case(
    program: str,
    name: str,
    arrays: list[np.ndarray],
    expected: np.ndarray,
    *,
    dtype: int = 0,
    relative: float | None = None,
    out: np.ndarray | None = None,
    blocks: int = 1,
) -> RunReport:
    """Runs one CASE and compares its output; returns the report, which has no errors."""
    got, report = run_case(
        program, name, *arrays, out_bytes=expected.nbytes, dtype=dtype, out=out, blocks=blocks
    )
    assert not report.errors, "\n".join(map(str, report.errors))
    result = got.view(expected.dtype).reshape(expected.shape)
    bound = RELATIVE[str(expected.dtype)] if relative is None else relative
    np.testing.assert_allclose(
        result.astype(np.float64), expected.astype(np.float64), rtol=bound, atol=bound, err_msg=name
    )
    return report


def lanes(
    size: int, mask: int | list[int], repeats: int, block_stride: int = 1, repeat_stride: int = 8
) -> np.ndarray:
    """Elements of `size` bytes that a mask (a count, or words of bits) takes, in order."""
    per_repeat, per_block = 256 // size, 32 // size
    if isinstance(mask, int):
        active = np.arange(per_repeat) < mask
    else:
        active = np.array([mask[lane // 64] >> lane % 64 & 1 for lane in range(per_repeat)], bool)
    lane = np.flatnonzero(active)
    first = lane // per_block * block_stride * per_block + lane % per_block
    return (np.arange(repeats)[:, None] * repeat_stride * per_block + first).reshape(-1)


def warnings_of(report: RunReport) -> list[Finding]:
    """The findings that are no errors."""
    return [one for one in report.findings if one.severity == "warning"]
