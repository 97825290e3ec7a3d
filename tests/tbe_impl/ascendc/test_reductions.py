"""Reductions of the host model, in the order of additions that the documentation gives."""

from __future__ import annotations

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import lanes, run_case, warnings_of

SIZE, COUNT = 1024, 1000
BITS = [0x5A5A5A5A0000FF00, 0x1]
DTYPES = {"float32": 0, "float16": 1}


def _input(dtype: str) -> np.ndarray:
    return np.random.default_rng(13).uniform(-3, 3, SIZE).astype(dtype)


def _tree(values: np.ndarray) -> np.ndarray:
    """Sums along the last axis by neighbours, each rounded to the dtype."""
    while values.shape[-1] > 1:
        if values.shape[-1] % 2:
            values = np.concatenate([values, np.zeros_like(values[..., :1])], -1)
        values = values[..., ::2] + values[..., 1::2]
    return values[..., 0]


def _expected(dtype: str) -> dict[str, np.ndarray]:
    x = _input(dtype)
    size = x.itemsize
    per_repeat, block = 256 // size, 32 // size
    index_type = np.uint16 if size == 2 else np.uint32
    rows = x.reshape(-1, per_repeat)

    def packed(*values: np.ndarray) -> np.ndarray:
        found = np.zeros(2048, np.uint8)
        raw = np.concatenate([np.atleast_1d(one).view(np.uint8) for one in values])
        found[: raw.size] = raw
        return found

    def index(value: int | np.ndarray) -> np.ndarray:
        return np.atleast_1d(np.asarray(value, index_type)).view(dtype)

    def pairs(values: np.ndarray, places: np.ndarray) -> np.ndarray:
        return packed(np.stack([values, index(places)], 1).reshape(-1))

    def at(positions: np.ndarray, values: np.ndarray) -> np.ndarray:
        found = np.zeros(2048 // size, dtype)
        found[positions] = values
        return found.view(np.uint8)

    padded = x.copy()
    padded[COUNT:] = 0
    total = np.array(0, dtype)
    for one in _tree(padded.reshape(-1, per_repeat)):
        total = (total + one).astype(dtype)
    tail = rows.copy()
    tail[:, per_repeat - 3 :] = 0
    picked = np.array([BITS[lane // 64] >> lane % 64 & 1 for lane in range(per_repeat)], bool)
    bits = np.where(picked, rows, 0).astype(dtype)
    first = rows[:, : per_repeat - 3]
    best = first.max(1).argmax()
    strided = x[lanes(size, per_repeat - 5, 2, 2, 16)].reshape(2, -1)
    counter = np.zeros(3 * per_repeat, dtype)
    counter[: 2 * per_repeat + 3] = x[: 2 * per_repeat + 3]
    blocks = x.reshape(-1, block)
    in_block = picked.reshape(-1, block)
    some = in_block.any(1)
    lowest = np.where(in_block, blocks[:8].reshape(8, block), np.inf).min(1).astype(dtype)
    pair_bits = bits[0].reshape(-1, 2).sum(1, dtype=dtype)
    return {
        "sum": packed(total),
        "max": packed(x[:COUNT].max()),
        "min": packed(x[:COUNT].min()),
        "max_index": packed(x[:COUNT].max(), index(x[:COUNT].argmax())),
        "min_index": packed(x[:COUNT].min(), index(x[:COUNT].argmin())),
        "sum_mask": packed(_tree(_tree(tail))),
        "sum_bits": packed(_tree(_tree(bits[[0, 2]]))),
        "max_mask": packed(first.max(), index(best * per_repeat + first[best].argmax())),
        "min_bits": packed(rows[:2, picked].min()),
        "whole_sum": packed(_tree(rows)),
        "whole_sum_bits": packed(_tree(bits[:2])),
        "whole_sum_stride": at(np.array([0, 3]), _tree(np.pad(strided, ((0, 0), (0, 5))))),
        "whole_max": pairs(rows.max(1), rows.argmax(1)),
        "whole_min_only": packed(rows.min(1)),
        "whole_max_index_first": packed(
            np.stack([index(rows[:2].argmax(1)), rows[:2].max(1)], 1).reshape(-1)
        ),
        "whole_max_only_index": packed(rows[:2].argmax(1).astype(np.uint32)),
        "reduce_repeat": packed(_tree(rows)),
        "block_sum": packed(_tree(blocks)),
        "block_max": packed(blocks.max(1)),
        "block_min_bits": at(np.flatnonzero(some), lowest[some]),
        "reduce_block": packed(blocks.min(1)),
        "pair_sum": packed(_tree(x[: 2 * per_repeat].reshape(-1, 2))),
        "pair_sum_bits": packed(pair_bits),
        "repeat_sum": packed(_tree(rows)),
        "counter": packed(_tree(counter.reshape(3, per_repeat))),
        "register_extremum": packed(x.max(), index(x.argmax())),
        "register_sum": packed(total),
    }


@cases("dtype", list(DTYPES))
@cases("name", list(_expected("float32")))
def test_reductions(name: str, dtype: str) -> None:
    """Results and indices are equal bit by bit."""
    got, report = run_case("reductions", name, _input(dtype), out_bytes=2048, dtype=DTYPES[dtype])
    assert not report.errors, report.errors
    np.testing.assert_array_equal(got.view(dtype), _expected(dtype)[name].view(dtype), err_msg=name)


@cases("name", ["whole_sum", "sum", "block_sum", "pair_sum"])
def test_infinite_sums_are_counted(name: str) -> None:
    """Halves whose sum is infinite are a warning."""
    x = np.full(SIZE, 60000, np.float16)
    _, report = run_case("reductions", name, x, out_bytes=2048, dtype=1)
    assert [one.kind for one in warnings_of(report)] == ["overflow"]
