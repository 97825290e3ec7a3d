"""Logical and bounding library functions of the host model."""

from __future__ import annotations

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import run_case, warnings_of

DTYPES = {"float32": 0, "float16": 1}


def _expected(dtype: str) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    x, y = np.random.default_rng(21).integers(-3, 4, (2, 256)).astype(dtype)
    first, second = x[:200], y[:200]
    return [x, y], {
        "and": (first != 0) & (second != 0),
        "or": (first != 0) | (second != 0),
        "xor": (first != 0) ^ (second != 0),
        "not": first == 0,
        "ands": np.zeros(200, bool),
        "ors": first != 0,
        "fma": first * second + first,
        "clamp": np.clip(first, -1, 1),
        "clamp_tensor": np.where(first < -2, -2, np.minimum(first, second)).astype(dtype),
        "bitwise_not": ~x.view(np.int16)[:200],
    }


@cases("dtype", list(DTYPES))
@cases("name", list(_expected("float32")[1]))
def test_logic(name: str, dtype: str) -> None:
    """The first 200 elements are computed, the others stay."""
    inputs, values = _expected(dtype)
    raw = np.ascontiguousarray(values[name]).view(np.uint8)
    expected = np.zeros(1024, np.uint8)
    expected[: raw.size] = raw
    got, report = run_case("logic", name, *inputs, out_bytes=1024, dtype=DTYPES[dtype])
    assert not report.errors, report.errors
    assert not warnings_of(report)
    np.testing.assert_array_equal(got, expected)
