"""Scalar functions, printing, tensor lists and scalar atomics of the host model."""

from __future__ import annotations

import numpy as np

from tests.tbe_impl.ascendc.harness import build

EXPECTED = [4, 60, 7, 64, 8, -1, 6, -1, 4, 0, 2, 3, 65504, 3, 9, 1, 32, 2, 16, 2, 2, 1, 1, 188416]


def _run(which: int, blocks: int = 1) -> tuple[np.ndarray, object]:
    kernel = build("utilities", (2048,), (4096,)).with_options(
        arguments={"dtype": "0", "which": str(which)}, blocks=blocks
    )
    outputs, report = kernel.run(np.zeros(2048, np.uint8), out=np.zeros(4096, np.uint8))
    return outputs[0].view(np.int64), report


def test_scalar_functions() -> None:
    """Counts of bits, conversions, limits, the control register, a list of tensors."""
    values, report = _run(0)
    assert not report.errors, report.errors
    np.testing.assert_array_equal(values[: len(EXPECTED)], EXPECTED)
    np.testing.assert_array_equal(values[100:108], [1, 0, 2, 1, 1, 4, values[8], values[0]])


def test_scalar_atomics() -> None:
    """Eight cores add 1 to 8 and take the largest number."""
    values, report = _run(1, blocks=8)
    assert not report.errors, report.errors
    assert values[:2].tolist() == [36, 7]


def test_printing() -> None:
    """Printed text and tensors are in the report, with the core; unwritten elements are marked."""
    _, report = _run(2)
    assert "[core 0] value 3 of x: 2.5\n[core 0] plain\n[core 0] 7\n" in report.printed
    assert "desc 5, 10 elements of float\n[1.500000, 1.500000" in report.printed
    assert report.printed.count("?, ?]") == 1
    assert "1.500000,\n 1.500000" in report.printed


def test_names_of_earlier_versions() -> None:
    """Events by pipes, elements as references, BroadCast, InitGlobalMemory."""
    values, report = _run(4)
    assert not report.errors, report.errors
    row = [1, 2.5, 3, 0, 1 / 3, 1, 1, 1]
    expected = np.array([*row * 4, *[5] * 8, *[0] * 8], np.float32)
    np.testing.assert_array_equal(values.view(np.float32)[:48], expected)
    assert values.view(np.float16)[96:100].tolist() == [1.5, 1.5, 4.5, 4.5]
    assert values.view(np.float32)[50] == 4.5


def test_list_index() -> None:
    """A tensor past the end of a list is an error."""
    _, report = _run(3)
    assert [one.kind for one in report.errors] == ["argument"]
    assert "tensor 2 of a list of 2" in report.errors[0].message
