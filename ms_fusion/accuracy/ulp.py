"""Measures the error of a result against a float64 reference, in ULP of the result's dtype."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ms_fusion.ops.call import Array, is_float, numpy_dtype

_FORMATS = {
    "float16": (10, -14, 15),
    "bfloat16": (7, -126, 127),
    "float32": (23, -126, 127),
    "float64": (52, -1022, 1023),
}
"""A dict from a dtype to (fraction bits, smallest normal exponent, largest exponent)."""


@dataclass(frozen=True)
class UlpDifference:
    """The largest differences between a result and its reference.

    Attributes:
        max_ulp: largest difference in ULP. One ULP is the distance between neighbouring numbers of
            the output dtype near the reference value. For integers and bools, `max_ulp` is the
            largest absolute difference.
        max_abs: largest absolute difference.
        max_rel: `max_abs` divided by the largest finite magnitude of the reference. If this
            magnitude is 0, `max_rel` is `max_abs`.
        mismatched: number of elements with one of these mismatches: only one of result and
            reference is NaN, only one is inf, or both are inf with different signs.
        elements: number of compared elements.
    """

    max_ulp: float
    max_abs: float
    mismatched: int = 0
    elements: int = 0
    max_rel: float = 0.0


def ulp_difference(result: Array, reference: Array, dtype: str) -> UlpDifference:
    """Returns the largest differences between the arrays `result` and `reference`.

    `result` has the dtype `dtype`, and `reference` has the dtype float64. One ULP is the distance
    between neighbouring numbers of `dtype` near the reference value. For a subnormal reference, one
    ULP is the smallest subnormal number. So the difference of a correctly rounded result is at most
    0.5 ULP. Special cases:

    - If both elements are NaN, the difference is 0. If only one is NaN, the difference is inf.
    - −0 and +0 are equal.
    - If the reference rounds to inf in `dtype` and the result is inf, the difference is 0. If the
      result is finite instead, the difference is measured in ULP of the largest finite number.
    - If the result is inf but the reference rounds to a finite number, the difference is computed
      as if the result were the number that would follow the largest finite number.
    - If the reference itself is inf and the result is another value, the difference is inf.

    Precondition: `result` and `reference` have the same number of elements.

    >>> import numpy as np
    >>> ulp_difference(np.float32([1.0000001]), np.array([1.0]), "float32").max_ulp
    1.0
    """
    got, wanted = np.asarray(result).reshape(-1), np.asarray(reference).reshape(-1)
    if got.shape != wanted.shape:
        raise ValueError(f"cannot compare {got.size} elements with {wanted.size}")
    if not got.size:
        return UlpDifference(0.0, 0.0)
    if not is_float(dtype):
        return _exact_difference(got, wanted)
    bits, lowest, highest = _FORMATS[dtype]
    x, y = got.astype(np.float64), wanted.astype(np.float64)
    top = 2.0 ** min(highest, 1023)
    with np.errstate(all="ignore"):
        rounded = y.astype(numpy_dtype(dtype)).astype(np.float64)
        exponent = np.clip(
            np.frexp(np.where(np.isfinite(y) & (y != 0), y, 1.0))[1] - 1, lowest, highest
        )
        spacing = np.ldexp(1.0, np.where(y == 0, lowest, exponent) - bits)
        # All terms are halved, since the number after the largest float64 is no float64.
        successor = np.copysign(top, x)
        half_x = np.where(np.isinf(x) & np.isfinite(rounded), successor, x / 2)
        ulp = np.abs(half_x - y / 2) / (spacing / 2)
        absolute = np.abs(x - y)
    same = (np.isnan(x) & np.isnan(y)) | (x == y) | (np.isinf(rounded) & (x == rounded))
    lost = ~same & (np.isnan(x) | np.isnan(y) | np.isinf(y))
    ulp = np.where(same, 0.0, np.where(lost, np.inf, ulp))
    absolute = np.where(same, 0.0, np.where(np.isnan(absolute), np.inf, absolute))
    mismatched = ~same & ~(np.isfinite(x) & np.isfinite(rounded))
    largest = float(absolute.max())
    return UlpDifference(
        float(ulp.max()), largest, int(mismatched.sum()), int(got.size), largest / _magnitude(y)
    )


def _exact_difference(got: Array, wanted: Array) -> UlpDifference:
    different = got != wanted
    if not different.any():
        return UlpDifference(0.0, 0.0, 0, int(got.size))
    apart = float(
        np.abs(got[different].astype(np.float64) - wanted[different].astype(np.float64)).max()
    )
    apart = max(apart, 1.0)
    return UlpDifference(
        apart, apart, 0, int(got.size), apart / _magnitude(wanted.astype(np.float64))
    )


def _magnitude(values: Array) -> float:
    """Returns the largest finite magnitude of `values`, or 1 if this magnitude is 0."""
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))) or 1.0


def worst_difference(differences: tuple[UlpDifference, ...]) -> UlpDifference:
    """Merges the differences of several outputs: maxima of errors, sums of element counts."""
    return UlpDifference(
        max((one.max_ulp for one in differences), default=0.0),
        max((one.max_abs for one in differences), default=0.0),
        sum(one.mismatched for one in differences),
        sum(one.elements for one in differences),
        max((one.max_rel for one in differences), default=0.0),
    )
