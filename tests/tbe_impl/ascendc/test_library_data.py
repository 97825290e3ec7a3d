"""Library functions that select, move, draw and quantise, against NumPy."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import run_case

SIZE, OUT = 768, 1024
KEY = (0xA4093822, 0x299F31D0)
COUNTER = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)


@lru_cache
def _inputs() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return (
        random.uniform(-20, 20, SIZE).astype(np.float32),
        random.uniform(0.5, 2, SIZE).astype(np.float32),
    )


def _philox(rounds: int, first: int, count: int) -> np.ndarray:
    """Philox 4x32 in Python integers: words of the stream that starts at COUNTER."""
    words = []
    start = sum(word << 32 * place for place, word in enumerate(COUNTER))
    for block in range((first + count + 3) // 4):
        value = (start + block) % (1 << 128)
        c = [value >> 32 * place & 0xFFFFFFFF for place in range(4)]
        key = list(KEY)
        for _ in range(rounds):
            left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [
                right >> 32 ^ c[1] ^ key[0],
                right & 0xFFFFFFFF,
                left >> 32 ^ c[3] ^ key[1],
                left & 0xFFFFFFFF,
            ]
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += c
    return np.array(words[first : first + count], np.uint32)


def _results() -> dict[str, np.ndarray]:
    x, y = _inputs()
    words = np.rint(x).astype(np.int32)
    small = np.rint(x[:512].astype(np.float16)).astype(np.int8).astype(np.float64)
    kept = x[:256] > 0
    rows, row_mask = x[:160].reshape(4, 40), kept.reshape(4, 64)[:, :40]
    bits = np.unpackbits(words[:8].view(np.uint8), bitorder="little")
    # [B, N, S, H/N] = [1, 2, 16, 16], read as NZ of each head and as NZ of the merged rows
    split = x[:512].reshape(1, 2, 1, 1, 16, 16).transpose(0, 1, 3, 4, 2, 5).reshape(1, 2, 16, 16)
    merged = x[:512].reshape(1, 2, 1, 16, 16).transpose(0, 2, 3, 1, 4).reshape(1, 16, 2, 16)
    merged = merged.transpose(0, 2, 1, 3)
    merged_again = split.transpose(0, 2, 1, 3).reshape(1, 1, 16, 2, 16).transpose(0, 3, 1, 2, 4)
    matrix, wide = x[:256].reshape(4, 64), words[:256].reshape(4, 64)
    half_matrix, half_y = matrix.astype(np.float16), y.astype(np.float16)
    group = np.arange(4)[:, None] * 2 + np.arange(64) // 32
    half = y.astype(np.float16).astype(np.float64)
    halves = np.full((4, 32), np.nan)
    halves[:, :24] = words[:96].reshape(4, 24) * y[:48:2]
    dequantised = np.full((4, 16), 7.0)
    dequantised[:, :12] = words[:64].reshape(4, 16)[:, :12] * y[:12]

    def integers(values: np.ndarray) -> np.ndarray:
        return np.clip(values, -128, 127).astype(np.int8)

    return {
        "select": np.where(row_mask, 2, rows),
        "select_left": np.where(row_mask, rows, 2),
        "where": np.where(kept[:200], x[:200], y[:200]),
        "where_scalar": np.where(kept[:200], x[:200], 2),
        "drop_out": x[:256] * kept * 2,
        "drop_out_bits": x[:256] * bits * 2,
        "pad": np.pad(x[:104].reshape(8, 13), ((0, 0), (1, 2)), constant_values=-5),
        "unpad": x[:128].reshape(8, 16)[:, :13],
        "transpose_1": split.transpose(0, 2, 1, 3),
        "transpose_3": merged,
        "transpose_4": merged,
        "transpose_5": split.transpose(0, 2, 1, 3),
        "transpose_6": merged_again,
        "transpose_7": x[:512].reshape(16, 32).T,
        "philox": _philox(10, 0, 64),
        "philox_rows": np.concatenate([_philox(10, 8 * row, 4) for row in range(4)]),
        "philox_floats": (_philox(7, 0, 64) & 0x7FFFFF) / np.float64(1 << 23),
        "quant": integers(np.rint(x[:200].astype(np.float16) * np.float16(3) + np.float16(4))),
        "quant_channel": integers(np.rint(half_matrix * half_y[:64] + half_y[64:128])),
        "dequant": dequantised,
        "dequant_single": words[:64] * 0.5,
        "dequant_half": halves.astype(np.float16),
        "antiquant": (
            (small[:256].reshape(4, 64) + half[:128].reshape(2, 64).repeat(2, 0))
            * half[128:256].reshape(2, 64).repeat(2, 0)
        ).astype(np.float16),
        "antiquant_scalar": ((small[:256] + 2) * 0.5).astype(np.float16),
        "quantize": integers(np.floor(matrix * y[group] + y[64 + group])),
        "dequantize": wide * y[:4, None],
        "antiquantize": (small[:256].reshape(4, 64) + y[64:128]) * y[:64],
        "fill": np.full(OUT, 3.0),
    }


@cases("given", [False, True])
@cases("name", list(_results()))
def test_results(name: str, given: bool) -> None:
    """The destination has the result in front, and stays as it was behind it."""
    expected = _results()[name]
    got, report = run_case("library_data", name, *_inputs(), out_bytes=4 * OUT, dtype=int(given))
    assert not report.findings, report.findings
    if expected.dtype == np.float64:
        expected = expected.astype(np.float32)
    result = got.view(expected.dtype)[: expected.size].reshape(expected.shape)
    result, wanted = result.astype(np.float64), expected.astype(np.float64)
    tolerance = 2e-3 if expected.dtype == np.float16 else 1e-6
    result[np.isnan(wanted)] = np.nan  # padding: not defined
    np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)
    rest = got[(expected.nbytes + 3) // 4 * 4 :].view(np.float32)
    np.testing.assert_array_equal(rest, np.full(rest.size, 7, np.float32))


def test_philox_agrees_with_the_published_vector() -> None:
    assert [hex(word) for word in _philox(10, 0, 4)] == [
        "0xd16cfe09",
        "0x94fdcceb",
        "0x5001e420",
        "0x24126ea1",
    ]


FAULTS = {
    "pad_to_odd_rows": ("alignment", "rows of 15 elements are 60 bytes, no multiple of 32"),
    "transpose_without_tiling": ("argument", "type 1 of a shape of 2 sizes"),
    "short_mask": ("argument", "rows of 40 elements with masks of 32"),
    "probability": ("argument", "keepProb is 1.5"),
}


@cases("name", list(FAULTS))
def test_faults(name: str) -> None:
    _, report = run_case("library_data", name, *_inputs(), out_bytes=4 * OUT)
    kind, message = FAULTS[name]
    assert [one.kind for one in report.errors] == [kind], report.errors
    assert message in report.errors[0].message
