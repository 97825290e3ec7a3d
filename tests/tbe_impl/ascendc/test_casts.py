"""Conversions of the host model in each documented round mode, against exact arithmetic."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import PROGRAMS, lanes, run_case, warnings_of

MODES = ("NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC", "ODD")
FIVE = ("RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")
# (to, from): the round modes that Atlas A2 documents.
DOCUMENTED = {
    ("half", "float"): ("NONE", *FIVE, "ODD"),
    ("int32_t", "float"): FIVE,
    ("int16_t", "float"): FIVE,
    ("int64_t", "float"): FIVE,
    ("bfloat16_t", "float"): FIVE,
    ("float", "float"): FIVE,
    ("float", "half"): ("NONE",),
    ("int32_t", "half"): FIVE,
    ("int16_t", "half"): FIVE,
    ("int8_t", "half"): ("NONE", *FIVE),
    ("uint8_t", "half"): ("NONE", *FIVE),
    ("float", "bfloat16_t"): ("NONE",),
    ("int32_t", "bfloat16_t"): FIVE,
    ("half", "int8_t"): ("NONE",),
    ("half", "uint8_t"): ("NONE",),
    ("half", "int16_t"): ("NONE", *FIVE),
    ("float", "int16_t"): ("NONE",),
    ("float", "int32_t"): ("NONE", *FIVE),
    ("int16_t", "int32_t"): ("NONE",),
    ("int64_t", "int32_t"): ("NONE",),
    ("float", "int64_t"): FIVE,
    ("int32_t", "int64_t"): ("NONE",),
}
FLOATS = {
    "half": (11, -24, 65504.0),
    "bfloat16_t": (8, -133, 3.3895313892515355e38),
    "float": (24, -149, 3.4028234663852886e38),
}
NUMPY = {"half": "float16", "float": "float32", "bfloat16_t": "uint16"}


def _numpy(dtype: str) -> np.dtype:
    return np.dtype(NUMPY.get(dtype, dtype.removesuffix("_t")))


@lru_cache
def _pairs() -> dict[tuple[str, str], int]:
    text = (PROGRAMS / "casts.cpp").read_text(encoding="utf-8")
    return {
        (to, source): int(number)
        for number, to, source in re.findall(r"PAIR\((\d+), (\w+), (\w+)\)", text)
    }


def _exact(values: np.ndarray, dtype: str) -> list[Fraction]:
    if dtype == "bfloat16_t":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return [Fraction(one.item()) for one in values]


def _inputs(source: str, to: str) -> np.ndarray:
    random = np.random.default_rng(11)
    size = 1024 // _numpy(source).itemsize
    if source.startswith(("int", "uint")):
        limits = np.iinfo(_numpy(source))
        values = random.integers(limits.min, limits.max, size, dtype=_numpy(source), endpoint=True)
        values[: size // 2] = random.integers(-3000 if limits.min else 0, 100, size // 2).astype(
            values.dtype
        )
        return values
    numbers = random.choice([-1, 1], size) * random.uniform(0, 4, size)
    numbers[::4] = np.round(numbers[::4] * 2) / 2  # halves
    wide = 2.0 ** random.uniform(-20, 14, size // 4)
    numbers[1::4] = wide * random.choice([-1, 1], size // 4)
    if to == "half":  # half an ulp, and values at both ends
        exact = random.uniform(1, 2, size // 4).astype(np.float16).astype(np.float64)
        numbers[2::4] = exact + 2.0**-11
    numbers[3] = 0
    if source == "bfloat16_t":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(_numpy(source))


def _to_integer(value: Fraction, mode: str) -> int:
    if mode == "FLOOR":
        return value.__floor__()
    if mode == "CEIL":
        return value.__ceil__()
    if mode == "TRUNC":
        return value.__trunc__()
    if mode == "ROUND":
        return (abs(value) + Fraction(1, 2)).__floor__() * (1 if value > 0 else -1)
    if mode == "ODD":
        whole = value.__floor__()
        return whole if whole == value or whole % 2 else whole + 1
    return round(value)


def _rounded(value: Fraction, to: str, mode: str) -> float | int:
    """The value in type `to`, saturated."""
    if to not in FLOATS:
        limits = np.iinfo(_numpy(to))
        return min(max(_to_integer(value, mode), limits.min), limits.max)
    precision, smallest, largest = FLOATS[to]
    if value == 0:
        return 0.0
    exponent = int(np.floor(np.log2(float(abs(value)))))
    while Fraction(2) ** exponent > abs(value):
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= abs(value):
        exponent += 1
    unit = Fraction(2) ** max(exponent - precision + 1, smallest)
    return float(
        min(max(_to_integer(value / unit, mode) * unit, Fraction(-largest)), Fraction(largest))
    )


def _result(raw: np.ndarray, to: str, count: int) -> np.ndarray:
    values = raw.view(_numpy(to))[:count]
    return (values.astype(np.uint32) << 16).view(np.float32) if to == "bfloat16_t" else values


@cases("to, source", DOCUMENTED)
def test_round_modes(to: str, source: str) -> None:
    """Each documented mode rounds as defined, and saturates."""
    x, dtype = _inputs(source, to), _pairs()[to, source]
    exact = _exact(x, source)[:-3]
    for mode in DOCUMENTED[to, source]:
        got, report = run_case(
            "casts", "mask", x, out_bytes=4096, dtype=dtype, which=MODES.index(mode)
        )
        assert not report.errors, report.errors
        if to == source:
            expected = [_to_integer(one, mode) for one in exact]
        else:
            expected = [_rounded(one, to, mode) for one in exact]
        found = _result(got, to, len(exact)).tolist()
        wrong = [
            item for item in zip(x.tolist(), found, expected, strict=False) if item[1] != item[2]
        ]
        assert not wrong, (mode, wrong[:5])
        assert not got.view(_numpy(to))[len(exact) : len(exact) + 3].any()


@cases(
    "to, source",
    [("half", "float"), ("float", "half"), ("half", "int8_t"), ("int64_t", "int32_t")],
)
def test_masks(to: str, source: str) -> None:
    """The wider type decides how many elements a repeat has."""
    x = np.arange(1024 // _numpy(source).itemsize).astype(_numpy(source))
    widest = max(_numpy(to).itemsize, _numpy(source).itemsize)
    per_repeat = 256 // widest
    for name, mask, repeats in (("mask", per_repeat - 1, 2), ("bits", [0xF0F, 0], 1)):
        index = (lanes(widest, mask, repeats) // per_repeat) * per_repeat + lanes(
            widest, mask, repeats
        ) % per_repeat
        got, report = run_case("casts", name, x, out_bytes=4096, dtype=_pairs()[to, source])
        assert not report.errors, report.errors
        expected = np.zeros(4096 // _numpy(to).itemsize)
        expected[index] = x.astype(np.float64)[index]
        np.testing.assert_array_equal(got.view(_numpy(to)).astype(np.float64), expected)


def test_int32_to_half_is_scaled() -> None:
    """The scale of SetDeqScale multiplies."""
    x = np.random.default_rng(5).integers(-60000, 60000, 256).astype(np.int32)
    got, report = run_case("casts", "scaled", x, out_bytes=4096, dtype=_pairs()["half", "int32_t"])
    assert not report.errors
    np.testing.assert_array_equal(got.view(np.float16)[:256], (x * 0.5).astype(np.float16))


@cases(
    "to, source, mode",
    [
        ("int32_t", "float", "NONE"),
        ("bfloat16_t", "float", "NONE"),
        ("int32_t", "float", "ODD"),
        ("half", "int32_t", "NONE"),
    ],
)
def test_undocumented_modes_are_errors(to: str, source: str, mode: str) -> None:
    """A mode that the pair has not, and a missing scale, name what to use."""
    x = np.zeros(256, _numpy(source))
    _, report = run_case(
        "casts", "mask", x, out_bytes=4096, dtype=_pairs()[to, source], which=MODES.index(mode)
    )
    assert [one.kind for one in report.errors] == ["argument"]
    line = next(
        number
        for number, text in enumerate(
            (PROGRAMS / "casts.cpp").read_text(encoding="utf-8").splitlines(), 1
        )
        if "static_cast<RoundMode>" in text
    )
    assert report.errors[0].line == line
    assert "SetDeqScale" in report.errors[0].remedy or "CAST_RINT" in report.errors[0].remedy


def test_saturated_elements_are_counted() -> None:
    """Finite values that do not fit become the largest, with a warning."""
    x = np.full(256, 1e6, np.float32)
    got, report = run_case(
        "casts", "mask", x, out_bytes=4096, dtype=_pairs()["half", "float"], which=1
    )
    assert (got.view(np.float16)[:253] == 65504).all()
    assert [(one.kind, one.count) for one in warnings_of(report)] == [("overflow", 253)]


def test_conversions_need_not_saturate() -> None:
    """Without saturation a value that does not fit becomes infinite."""
    x = np.array([1e6, -1e6, 65504, 1] * 64, np.float32)
    got, report = run_case("casts", "infinite", x, out_bytes=4096, dtype=_pairs()["half", "float"])
    assert not report.errors, report.errors
    assert got.view(np.float16)[:4].tolist() == [np.inf, -np.inf, 65504, 1]
