"""Gathers, sorts and transpositions of the host model."""

from __future__ import annotations

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import lanes, run_case

DTYPES = {"float32": 0, "float16": 1}


def _inputs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(17)
    size = 2048 // np.dtype(dtype).itemsize
    x = random.permutation(size).astype(dtype)  # distinct scores
    x[5] = x[3]  # but two
    indices = np.concatenate([random.permutation(508), np.arange(508, 512)])
    return x, indices.astype(np.uint32)


def _placed(dtype: str, index: np.ndarray | slice, values: np.ndarray) -> np.ndarray:
    found = np.zeros(4096 // np.dtype(dtype).itemsize, dtype)
    found[index] = values
    return found.view(np.uint8)


def _pairs(scores: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Pairs of 8 bytes by falling score; equal scores keep their order."""
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    found = np.zeros((order.size, 8), np.uint8)
    found[:, : scores.itemsize] = scores[order, None].view(np.uint8)
    found[:, 4:] = indices[order, None].view(np.uint8)
    return found


def _bytes(*parts: np.ndarray) -> np.ndarray:
    found = np.zeros(4096, np.uint8)
    raw = np.concatenate([np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in parts])
    found[: raw.size] = raw
    return found


def _expected(dtype: str) -> dict[str, np.ndarray]:
    x, y = _inputs(dtype)
    size = x.itemsize
    per_repeat, block = 256 // size, 32 // size
    tail = lanes(size, per_repeat - 3, 2)
    bits = lanes(size, [0x0F0F, 0], 1)
    scattered = np.zeros(4096 // size, dtype)
    scattered[y[:100]] = x[:100]
    blocks = np.repeat(x[:16, None], block, 1)
    gaps = np.zeros(4096 // size, dtype)
    for i in range(16):
        at = (i // 8 * 20 + i % 8 * 2) * block
        gaps[at : at + block] = x[i]
    four = [_pairs(x[i * 32 :][:32], y[i * 32 :][:32]) for i in range(4)]
    merged = _pairs(x[:128], y[:128])
    taken = merged[np.isin(merged[:, 4:].copy().view(np.uint32)[:, 0], y[:64])]
    place = taken[:, 4:].copy().view(np.uint32)[:, 0]
    first, second = np.isin(place, y[:32]).cumsum(), np.isin(place, y[32:64]).cumsum()
    end = int(np.flatnonzero((first == 32) | (second == 32))[0]) + 1
    suspended = _bytes(taken[:end])
    suspended.view(np.uint32)[1000:1002] = first[end - 1], second[end - 1]
    rows = [x[i * 64 :][:50] for i in range(2)]
    pitch = -(-5 * size // 32) * 32 // size
    found_k = {}
    for name, sign in (("top_k", -1), ("bottom_k", 1)):
        out = np.zeros(4096, np.uint8)
        for i, row in enumerate(rows):
            order = np.argsort(sign * row.astype(np.float64), kind="stable")[:5]
            out.view(dtype)[i * pitch :][:5] = row[order]
            out.view(np.int32)[512 + i * 8 :][:5] = order
        found_k[name] = out
    proposals = x[:128].reshape(16, 8)
    concat = np.zeros((32, 8), dtype)
    concat[:, 4] = x[:32]
    if size == 2:
        sixteen = x[:256].reshape(16, 16).T
        repeat = x[:512].reshape(16, 2, 16).transpose(1, 2, 0)
    else:  # a column of 16 fills two blocks
        sixteen = x[:128].reshape(16, 8).T
        repeat = x[:256].reshape(16, 2, 8).transpose(1, 2, 0)
    image = x[:192]
    rising = np.argsort(x[:100].astype(np.float64), kind="stable")
    falling = np.argsort(-x[:96].astype(np.float64), kind="stable")
    return {
        "gather": _placed(dtype, slice(100), x[y[:100]]),
        "gather_mask": _placed(dtype, lanes(size, per_repeat - 3, 2, 1, 10), x[y[tail] + 4]),
        "gather_bits": _placed(dtype, bits, x[y[bits]]),
        "scatter": scattered.view(np.uint8),
        "broadcast": _bytes(blocks),
        "broadcast_gaps": gaps.view(np.uint8),
        "interleave": _bytes(np.stack([x[:128], x[128:256]], 1)),
        "deinterleave": _bytes(x[:256:2], x[1:256:2]),
        "deinterleave_one": _bytes(x[:256:2], x[1:256:2]),
        "sort32": _bytes(*four),
        "sort": _bytes(merged),
        "sort_extract": _bytes(
            np.pad(merged[:, :size].reshape(-1), (0, 1024 - 128 * size)), merged[:, 4:].copy()
        ),
        "merge": _bytes(merged),
        "merge_repeats": _bytes(merged, _pairs(x[128:256], y[128:256])),
        "merge_suspended": suspended,
        **found_k,
        "sort_values": _bytes(x[rising]),
        "sort_positions": _placed(dtype, slice(100), x[rising]),
        "sort_indices": _placed(dtype, slice(96), x[falling]),
        "rp_sort": _bytes(proposals[np.argsort(-proposals[:, 4].astype(float), kind="stable")]),
        "proposal_concat": _bytes(concat),
        "proposal_extract": _bytes(x[:256].reshape(32, 8)[:, 4].copy()),
        "blocks16": _bytes(sixteen.copy()),
        "blocks_repeat": _bytes(repeat.copy()),
        "nhwc": _bytes(image.reshape(2, 3, 32).transpose(0, 2, 1).copy()),
        "nchw": _bytes(image.reshape(2, 32, 3).transpose(0, 2, 1).copy()),
    }


@cases("dtype", list(DTYPES))
@cases("name", list(_expected("float32")))
def test_gathers(name: str, dtype: str) -> None:
    """Elements move to where the index, the order or the shape says."""
    x, y = _inputs(dtype)
    expected = _expected(dtype)[name]
    if name == "sort_positions":
        order = np.argsort(x[:100].astype(np.float64), kind="stable")
        expected.view(np.uint32)[512:612] = order
    if name == "sort_indices":
        order = np.argsort(-x[:96].astype(np.float64), kind="stable")
        expected.view(np.uint32)[512:608] = y[order]
    got, report = run_case("gathers", name, x, y, out_bytes=4096, dtype=DTYPES[dtype])
    assert not report.errors, report.errors
    np.testing.assert_array_equal(got, expected, err_msg=name)


def test_transpose_of_16_by_16() -> None:
    """A matrix of 16-bit elements."""
    x, y = _inputs("float16")
    got, report = run_case("gathers", "gather", x, y, out_bytes=4096, dtype=1, which=40)
    assert not report.errors, report.errors
    np.testing.assert_array_equal(got, _bytes(x[:256].reshape(16, 16).T.copy()))


def test_gather_of_blocks() -> None:
    """Blocks of 32 bytes by their offsets."""
    x, y = _inputs("float32")
    y = (y % 64 * 32).astype(np.uint32)
    got, report = run_case("gathers", "gather", x, y, out_bytes=4096, dtype=0, which=41)
    assert not report.errors, report.errors
    expected = np.zeros((128, 32), np.uint8)
    expected[:16:2] = x.view(np.uint8).reshape(64, 32)[y[:8] // 32]
    np.testing.assert_array_equal(got, expected.reshape(-1))
