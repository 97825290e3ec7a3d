"""ULP errors against hand-computed values and NumPy's spacing."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ms_fusion.accuracy.ulp import UlpDifference, ulp_difference, worst_difference
from tests.cases import cases

inf, nan = np.inf, np.nan
BIG = float(np.finfo(np.float32).max)
TINY = float(np.finfo(np.float32).smallest_subnormal)

CASES = {
    "equal": (1.0, 1.0, 0.0, 0.0),
    "one place above 1": (1 + 2**-23, 1.0, 1.0, 2**-23),
    "half a place is the best rounding": (1.0, 1 + 2**-24, 0.5, 2**-24),
    "just below 1 the unit is half as large": (1.0, 1 - 2**-24, 1.0, 2**-24),
    "NaN both": (nan, nan, 0.0, 0.0),
    "NaN instead of a number": (nan, 1.0, inf, inf),
    "a number instead of NaN": (0.0, nan, inf, inf),
    "signed zeros": (-0.0, 0.0, 0.0, 0.0),
    "inf both": (inf, inf, 0.0, 0.0),
    "inf of the other sign": (-inf, inf, inf, inf),
    "a number instead of inf": (BIG, inf, inf, inf),
    "overflow rounds to inf": (inf, 1e39, 0.0, 0.0),
    "no overflow where there should be": (BIG, 2 * BIG, 2.0**24 - 1, BIG),
    "overflow one place early": (inf, BIG, 1.0, inf),
    "smallest subnormal instead of 0": (TINY, 0.0, 1.0, TINY),
    "flushed to zero": (0.0, 8 * TINY, 8.0, 8 * TINY),
}


@cases("result, reference, ulp, absolute", CASES.values(), ids=CASES.keys())
def test_float32(result, reference, ulp, absolute):
    found = ulp_difference(np.array([result], np.float32), np.array([reference]), "float32")
    assert (found.max_ulp, found.max_abs) == (ulp, absolute)


@cases(
    "dtype, kind",
    [
        ("float16", np.float16),
        ("bfloat16", ml_dtypes.bfloat16),
        ("float32", np.float32),
        ("float64", np.float64),
    ],
)
def test_neighbours_are_one_apart(dtype, kind):
    numbers = np.array([1.0, 1.5, -3.0, 1e-3, 1000.0]).astype(kind)
    next_ones = np.nextafter(numbers, np.array(0.0, kind) - np.array(2000, kind))
    for one, neighbour in zip(numbers, next_ones, strict=True):
        found = ulp_difference(np.array([neighbour]), np.array([float(one)]), dtype)
        assert found.max_ulp in (1.0, 0.5)  # half the unit just below a power of two
        assert found.max_abs == abs(float(neighbour) - float(one))


def test_float32_unit_is_numpys():
    for at in map(np.float32, (1.0, 0.1, 1e38, 1e-38, 1e-42, -7.0)):
        three_units_off = at + 3 * np.spacing(at)
        found = ulp_difference(np.array([three_units_off]), np.array([float(at)]), "float32")
        assert found.max_ulp == 3.0


def test_mismatches_are_counted():
    found = ulp_difference(
        np.float32([nan, inf, 1, 1, nan]), np.array([1.0, 1.0, inf, 1.0, nan]), "float32"
    )
    assert (found.mismatched, found.elements) == (3, 5)


def test_integers_and_bools_are_exact():
    assert ulp_difference(np.int64([5, 7]), np.int64([5, 7]), "int64") == UlpDifference(
        0.0, 0.0, 0, 2
    )
    assert ulp_difference(np.int32([5, 9]), np.int32([5, 7]), "int32").max_ulp == 2.0
    assert ulp_difference(np.array([True]), np.array([False]), "bool").max_ulp == 1.0
    assert (
        ulp_difference(np.int64([2**62 + 1]), np.int64([2**62]), "int64").max_ulp == 1.0
    )  # lost in float64


def test_worst_of_several():
    found = worst_difference((UlpDifference(1.0, 5.0, 1, 10), UlpDifference(3.0, 2.0, 0, 4)))
    assert found == UlpDifference(3.0, 5.0, 1, 14)


def test_nothing_to_compare():
    assert ulp_difference(np.zeros(0, np.float32), np.zeros(0), "float32").max_ulp == 0.0


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="3 elements with 2"):
        ulp_difference(np.zeros(3, np.float32), np.zeros(2), "float32")
