"""Defines the DSL arithmetic on NumPy arrays: conversions, integer division, reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray


def convert(array: Array, dtype: np.dtype[Any]) -> Array:
    """Converts `array` to `dtype`.

    A float-to-integer conversion truncates towards 0, saturates, and maps NaN to 0. An
    integer-to-integer conversion wraps around.

    >>> convert(np.array([1e9, -1e9, np.nan, -2.7]), np.dtype("int8"))
    array([ 127, -128,    0,   -2], dtype=int8)
    """
    if array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):
        if dtype.kind in "iu" and array.dtype.kind not in "iub":
            return _saturating_cast(array.astype(np.float64), dtype)
        if dtype.name == "bfloat16" and array.dtype.kind in "fiu" and array.itemsize > 2:
            # ml_dtypes converts through float32; rounding to odd avoids double rounding
            return _round_to_odd(_to_float64(array)).astype(dtype)
        return array.astype(dtype)


def _to_float64(array: Array) -> Array:
    """Converts `array` to float64.

    Integers that need more than 53 bits are rounded to odd. A later rounding to a narrower float
    then gives the same result as one direct rounding.
    """
    if array.dtype.kind in "iu" and array.itemsize == 8:
        large = (array > 1 << 52) | (array < -(1 << 52))
        # typed constants: a Python integer would promote a 0-d array to int64
        low, shift = array.dtype.type(0xFFF), array.dtype.type(12)
        odd = (array | low) - low | ((array & low != 0).astype(array.dtype) << shift)
        array = np.where(large, odd, array)
    return array.astype(np.float64)


def _round_to_odd(wide: Array) -> Array:
    """Rounds float64 to float32 with round-to-odd.

    A later rounding to fewer bits then gives the same result as one direct rounding.
    """
    narrow = wide.astype(np.float32)
    back = narrow.astype(np.float64)
    bits = narrow.view(np.int32) - (np.abs(back) > np.abs(wide))
    inexact = (back != wide) & ~np.isnan(wide)
    return (bits | inexact).astype(np.int32).view(np.float32)


def _saturating_cast(wide: Array, dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    cut = np.trunc(np.where(np.isnan(wide), 0, wide))
    # float64 cannot represent the largest int64 or uint64, so compare with the power of two above
    fits = (cut >= float(limits.min)) & (cut < float(int(limits.max) + 1))
    edge = np.where(cut > 0, np.asarray(limits.max, dtype), np.asarray(limits.min, dtype))
    return np.where(fits, np.where(fits, cut, 0).astype(dtype), edge)


def divide(a: Any, b: Any) -> Any:
    """Returns a / b.

    Integer division truncates towards 0, and integer division by 0 gives 0.
    """
    if np.asarray(a).dtype.kind in "iub":
        return truncated_division(a, b)
    return np.divide(a, b)


def truncated_division(a: Any, b: Any) -> Any:
    """Divides integers and truncates the quotient towards 0, as in C; division by 0 gives 0.

    >>> truncated_division(np.array([-7, 7]), np.array([2, 0]))
    array([-3,  0])
    """
    x, safe = np.asarray(a), np.where(np.equal(b, 0), np.ones((), np.asarray(b).dtype), b)
    with np.errstate(over="ignore"):  # INT_MIN / −1 wraps to INT_MIN
        quotient = np.floor_divide(x, safe)
    short = (quotient < 0) & (quotient * safe != x)
    return np.where(np.equal(b, 0), 0, quotient + short).astype(x.dtype)


def guard_zero_division(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a division or remainder function so that integer division by 0 gives 0."""

    def safe(a: Any, b: Any) -> Any:
        if np.asarray(b).dtype.kind not in "iu":
            return function(a, b)
        return np.where(np.equal(b, 0), 0, function(a, np.where(np.equal(b, 0), 1, b)))

    return safe


BINARY_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": divide,
    "pow": np.power,
    "floordiv": guard_zero_division(np.floor_divide),
    "floormod": guard_zero_division(np.mod),
    "truncdiv": truncated_division,
    "truncmod": guard_zero_division(np.fmod),
    "max": np.maximum,
    "min": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
}
"""Maps the name of a binary operator of expressions to its NumPy function."""

_REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}


def reduce(op: str, source: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Reduces `source` over `axes`; partial and final results have the dtype of `source`.

    A reduction of zero elements gives the identity element of `op`.
    """
    return _REDUCTIONS[op](
        source,
        axis=axes,
        keepdims=keepdims,
        initial=identity_element(op, source.dtype),
        **({"dtype": source.dtype} if op in ("sum", "prod") else {}),
    )


def identity_element(op: str, dtype: np.dtype[Any]) -> Any:
    """Returns the identity element of the reduction `op`.

    The identity element is 0 for a sum, 1 for a product, the lowest value of the dtype for a
    maximum, and the highest value for a minimum.
    """
    if op in ("sum", "prod"):
        return 0 if op == "sum" else 1
    highest = op == "min"
    if dtype.kind == "b":
        return highest
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if highest else np.iinfo(dtype).min
    return np.inf if highest else -np.inf
