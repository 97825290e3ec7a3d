"""Comparisons, selections and mask gathers of the host model."""

from __future__ import annotations

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import lanes, run_case, warnings_of

SIZE = 512
BITS = [0x5A5A5A5A0000FFFF, 0x1]
DTYPES = {"float32": 0, "float16": 1}


def _inputs(dtype: str) -> list[np.ndarray]:
    return list(np.random.default_rng(9).integers(-3, 4, (2, SIZE)).astype(dtype))


def _packed(truth: np.ndarray) -> np.ndarray:
    found = np.zeros(2048, np.uint8)
    packed = np.packbits(truth, bitorder="little")
    found[: packed.size] = packed
    return found


def _placed(dtype: str, index: np.ndarray | slice, values: np.ndarray) -> np.ndarray:
    found = np.zeros(2048 // np.dtype(dtype).itemsize, dtype)
    found[index] = values
    return found.view(np.uint8)


def _expected(dtype: str) -> dict[str, np.ndarray]:
    x, y = _inputs(dtype)
    size = x.itemsize
    per_repeat, block = 256 // size, 32 // size
    two, n = slice(2 * per_repeat), per_repeat + 7
    less = x < y
    all_lanes = np.arange(2 * per_repeat)
    tail, bits = lanes(size, per_repeat - 3, 2), lanes(size, BITS, 2)
    blocks = lanes(size, per_repeat, 1, 2)
    found = {
        "lt": _packed(less[two]),
        "gt": _packed((x > y)[two]),
        "eq": _packed((x == y)[two]),
        "le": _packed((x <= y)[two]),
        "ge": _packed((x >= y)[two]),
        "ne": _packed((x != y)[two]),
        "repeats": _packed(x[two] < np.tile(y[:per_repeat], 2)),
        "blocks": _packed(x[blocks] < y[:per_repeat]),
        "scalar": _packed((x > 1)[two]),
        "scalar_left": _packed((x < 1)[two]),
        "scalar_repeats": _packed((x > 1)[two]),
        "element": _packed(x[block] > y[:per_repeat]),
        "operator": _packed(less),
        "select": _placed(dtype, slice(n), np.where(less, x, y)[:n]),
        "select_scalar": _placed(dtype, slice(n), np.where(less, x, 0)[:n]),
        "select_scalar_left": _placed(dtype, slice(n), np.where(less, 0, x)[:n]),
        "select_same_bits": _placed(
            dtype, two, np.where(np.tile(less[:per_repeat], 2), x[two], y[two])
        ),
        "select_mask": _placed(dtype, tail, np.where(less, x, y)[tail]),
        "select_bits": _placed(dtype, bits, np.where(less, x, 0)[bits]),
        "select_register": _placed(
            dtype, two, np.where(np.tile(less[:per_repeat], 2), x[two], y[two])
        ),
        "compare_register": _packed(less[:per_repeat]),
    }
    starts = np.arange(2)[:, None] * 8 * block
    seventy = (starts + np.arange(70)).reshape(-1)
    gathers = {
        "gather_even": x[all_lanes][::2],
        "gather_third": x[seventy][np.tile(np.arange(70) % 4 == 2, 2)],
        "gather_all": x[: 2 * per_repeat + 5],
    }
    for name, values in gathers.items():
        found[name] = _placed(dtype, slice(values.size), values)
        found[name][2040] = values.size & 0xFF
    return found


@cases("dtype", list(DTYPES))
@cases("name", list(_expected("float32")))
def test_comparisons(name: str, dtype: str) -> None:
    """Bits in the order of the elements; the bits choose elements."""
    got, report = run_case(
        "comparisons", name, *_inputs(dtype), out_bytes=2048, dtype=DTYPES[dtype]
    )
    assert not report.errors, report.errors
    assert not warnings_of(report), warnings_of(report)
    np.testing.assert_array_equal(got, _expected(dtype)[name], err_msg=name)


@cases("dtype", list(DTYPES))
def test_gather_by_a_tensor(dtype: str) -> None:
    """The bits of a tensor select; each repeat takes its own or (stride 0) the same ones."""
    x, y = _inputs(dtype)
    got, report = run_case(
        "comparisons", "gather_all", x, y, out_bytes=2048, dtype=DTYPES[dtype], which=40
    )
    assert not report.errors, report.errors
    step = 256 // x.itemsize
    index = (np.arange(2)[:, None] * step + np.arange(70)).reshape(-1)
    values = x[index][np.tile((x < y)[:70], 2)]
    expected = _placed(dtype, slice(values.size), values)
    expected[2040] = values.size
    np.testing.assert_array_equal(got, expected)
