"""Copies of the host model: blocks with gaps, padding, slices, atomic modes."""

from __future__ import annotations

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import check_case, warnings_of

DTYPES = {"float32": 0, "float16": 1, "int32": 2}


def _input(dtype: str) -> np.ndarray:
    size = 2048 // np.dtype(dtype).itemsize
    return np.random.default_rng(3).integers(-900, 900, size).astype(dtype)


def _expected(dtype: str) -> dict[str, np.ndarray]:
    x = _input(dtype)
    size, block = x.size, 32 // x.itemsize
    width = 3 * block - 3

    def sevens() -> np.ndarray:
        return np.full(size, 7, dtype)

    found = {
        name: sevens()
        for name in ("count", "blocks", "blocks_out", "within", "within_count", "slice")
    }
    found["count"][: 4 * block] = x[: 4 * block]
    for name in ("blocks", "blocks_out"):
        for i in range(3):
            found[name][i * 4 * block :][: 2 * block] = x[i * 3 * block :][: 2 * block]
    for i in range(2):
        found["within"][i * 4 * block :][: 3 * block] = x[i * 3 * block :][: 3 * block]
    found["within_count"][block : 3 * block] = x[: 2 * block]
    part = x[: 64 * block].reshape(4, 16, block)
    found["slice"][: 8 * block] = part[[0, 2]][:, [1, 3, 5, 7]].reshape(-1)

    for name in ("pad", "pad_value"):
        found[name] = sevens()
        for i in range(5 if name == "pad" else 2):
            row = x[i * width :][:width]
            found[name][i * 3 * block :][: 3 * block] = 11 if name == "pad_value" else row[0]
            found[name][i * 3 * block :][:width] = row
    found["pad_right"] = sevens()
    found["pad_right"][: 3 * block] = 9
    found["pad_right"][:width] = x[:width]
    found["pad_left"] = sevens()
    for i in range(2):
        found["pad_left"][i * 4 * block :][: 3 * block] = 9
        found["pad_left"][i * 4 * block + 2 :][:width] = x[i * (width + 2) :][:width]
    found["pad_old"] = sevens()
    for i in range(2):
        found["pad_old"][i * 3 * block :][: 3 * block] = 0
        found["pad_old"][i * 3 * block :][:width] = x[i * width :][:width]
    found["pad_out"] = sevens()
    for i in range(5):
        found["pad_out"][i * width :][:width] = x[i * 3 * block :][:width]
    found["pad_out_gaps"] = sevens()
    for i in range(3):
        found["pad_out_gaps"][1 + i * (width + 2) :][:width] = x[i * 4 * block :][:width]
    found["pad_empty"] = sevens()

    found["pad_loops"] = sevens()
    for outer in range(2):
        for inner in range(2):
            for i in range(2):
                row = x[(5 * outer + 2 * inner + i) * width :][:width]
                at = (14 * outer + 6 * inner + 3 * i) * block
                found["pad_loops"][at : at + 3 * block] = row[0]
                found["pad_loops"][at : at + width] = row
    found["dimensions"] = sevens()
    plane = np.full((5, 6), 9, dtype)
    plane[1:, 2:5] = x[:40].reshape(4, 10)[:, :3]
    found["dimensions"][:40].reshape(5, 8)[:, :6] = plane
    found["transposed"] = sevens()
    found["transposed"][:32] = x[:32].reshape(4, 8).T.reshape(-1)
    found["nearest"] = sevens()
    found["nearest"][:10] = x[np.clip(np.arange(-2, 8), 0, 4)]

    found["copy_mask"] = sevens()
    for repeat in range(3):
        for i in range(2):
            at = (repeat * 8 + i * 2) * block
            found["copy_mask"][at:][:block] = x[(repeat * 4 + i) * block :][:block]
    found["copy_bits"] = sevens()
    found["copy_bits"][[0, 2]] = x[[0, 2]]
    return found


@cases("dtype", list(DTYPES))
@cases("name", list(_expected("float32")))
def test_copies(name: str, dtype: str) -> None:
    """The elements that a copy names arrive; the others stay."""
    report = check_case(
        "copies", name, [_input(dtype)], _expected(dtype)[name], dtype=DTYPES[dtype]
    )
    assert not warnings_of(report)


@cases("dtype", list(DTYPES))
def test_atomic_copies(dtype: str) -> None:
    """In an atomic mode a copy combines its elements with those of global memory."""
    x = _input(dtype)
    width = 3 * (32 // x.itemsize) - 3
    before = np.random.default_rng(4).integers(-900, 900, x.size).astype(dtype)
    smaller = before.copy()
    smaller[:width] = np.minimum(before, x)[:width]
    expected = {
        "atomic_add": before + x,
        "atomic_max": np.maximum(before, x),
        "atomic_min_pad": smaller,
    }
    for name, values in expected.items():
        check_case("copies", name, [x], values, dtype=DTYPES[dtype], out=before.copy())


def test_atomic_adds_of_several_cores() -> None:
    """Each of the cores adds once, without a race."""
    x = _input("int32")
    before = np.zeros(x.size, np.int32)
    check_case("copies", "atomic_add", [x], 6 * x, dtype=2, out=before, blocks=6)
