"""float64 to float16 and bfloat16 rounds once: values beside a tie never become one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.dsl.array_semantics import convert
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import assert_same, run_both

BITS = {"float16": 11, "bfloat16": 8}
LOWEST = {"float16": -24, "bfloat16": -133}
"""Exponent of the smallest subnormal."""
LARGEST = {"float16": 65504.0, "bfloat16": float.fromhex("0x1.fep127")}


def rounded_once(x: np.ndarray, dtype: str) -> np.ndarray:
    """The float64 nearest to x among the values of `dtype`, ties to even; by exact steps in
    float64.
    """
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))[1]
        unit = np.maximum(exponent - BITS[dtype], LOWEST[dtype])
        found = np.ldexp(np.rint(np.ldexp(x, -unit)), unit)
        found = np.where(np.abs(found) > LARGEST[dtype], np.copysign(np.inf, x), found)
    return np.where(np.isfinite(x), found, x)


def awkward(dtype: str) -> np.ndarray:
    """Every value of the dtype, every tie of two neighbours, and the adjacent float64 values."""
    patterns = np.arange(1 << 15, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        values = patterns.view(dtype_of(dtype).numpy).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    halves = (values[1:] + values[:-1]) / 2
    above = LARGEST[dtype] + (values[-1] - values[-2]) / 2
    points = np.concatenate([values, halves, [above, 1e300, 5e-324, 1e-310, np.inf, 0.0]])
    near = [points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)]
    # closer than float32 resolves
    near += [points * (1 + 2.0**-40), points * (1 - 2.0**-40), points * (1 + 2.0**-26)]
    positive = np.concatenate(near)
    return np.concatenate([positive, -positive, [np.nan]])


def drawn(dtype: str) -> np.ndarray:
    random = np.random.default_rng(5)
    exponents = random.integers(LOWEST[dtype] - 3, 17 if dtype == "float16" else 129, 1_000_000)
    return random.uniform(-1, 1, 1_000_000) * 2.0**exponents


def thinned(dtype: str) -> np.ndarray:
    """Some difficult values, and the last ones, which overflow or are NaN."""
    return np.concatenate([awkward(dtype)[::7], awkward(dtype)[-1:]])


@cases("numbers", [thinned, *(pytest.param(one, marks=FULL) for one in (awkward, drawn))])
@cases("dtype", BITS)
def test_a_cast_rounds_once(dtype: str, numbers: Callable[[str], np.ndarray], cache: Store) -> None:
    x = numbers(dtype)
    wanted = rounded_once(x, dtype)
    if dtype == "float16":
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(x.astype(np.float16).astype(np.float64), wanted)
    for rounding in ("accurate", "device"):
        ((found, numpy),) = run_both(
            lambda t: dsl.cast_to(t, dtype), x, cache=cache, rounding=rounding
        )
        assert_same(found.astype(np.float64), wanted)
        assert_same(numpy.astype(np.float64), wanted)


def nearest(whole: int, dtype: str) -> float:
    """An integer rounded to `dtype`, ties to even, by exact integers."""
    unit = 1 << max(abs(whole).bit_length() - BITS[dtype], 0)
    above, rest = divmod(abs(whole), unit)
    above += 2 * rest > unit or (2 * rest == unit and above % 2)
    found = float(above * unit) if above * unit <= LARGEST[dtype] else np.inf
    return -found if whole < 0 else found


@cases(
    "dtype",
    ["int64", *(pytest.param(dtype, marks=FULL) for dtype in ("int32", "uint32", "uint64"))],
)
def test_a_cast_of_integers_rounds_once(dtype: str, full: bool, cache: Store) -> None:
    limits = np.iinfo(dtype)
    points = {
        n * 2**power
        for n in (*range(256, 520, 1 if full else 5), 2049, 4095)
        for power in range(-1, 58)
    }
    near = {sign * int(point) + by for point in points for sign in (1, -1) for by in (-1, 0, 1)}
    listed = sorted(n for n in {*near, limits.min, limits.max} if limits.min <= n <= limits.max)
    x = np.array(listed, dtype)
    for to in BITS:
        ((found, numpy),) = run_both(lambda t, to=to: dsl.cast_to(t, to), x, cache=cache)
        np.testing.assert_array_equal(found.astype(np.float64), [nearest(n, to) for n in listed])
        assert_same(numpy, found)


@cases("bits", [128, 256], sample=1)
@cases("dtype", BITS)
def test_narrower_vectors_round_the_same(dtype: str, bits: int, cache: Store) -> None:
    x = awkward(dtype)[::7]

    def there_and_back(t):
        return dsl.cast_to(dsl.cast_to(t, dtype), "float64")

    ((found, numpy),) = run_both(there_and_back, x, cache=cache, vector_bits=bits)
    assert_same(found, rounded_once(x, dtype))
    assert_same(numpy, found)


def test_conversion_of_arrays_keeps_shapes_and_specials() -> None:
    bfloat16 = dtype_of("bfloat16").numpy
    x = np.array([[1 + 2**-8 + 2**-40, -(1 + 2**-8 + 2**-40)], [np.nan, -np.inf]])
    found = convert(x, bfloat16)
    assert found.shape == (2, 2)
    assert found.dtype == bfloat16
    np.testing.assert_array_equal(
        found.astype(np.float64), [[1 + 2**-7, -1 - 2**-7], [np.nan, -np.inf]]
    )
    assert convert(np.float64(1 + 2**-8 + 2**-40)[()] * np.ones(()), bfloat16).shape == ()
