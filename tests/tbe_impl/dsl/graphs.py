"""Small graphs computed by the NumPy back end, and the tolerances of their dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.interpreter.evaluate import run

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (0,), (0, 4), (13,), (3, 7), (2, 3, 5))
ULP = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-22, "float64": 2.0**-50}
"""Relative error allowed in a result."""


def compute(build: Callable[..., Any], *arrays: np.ndarray, **how: Any) -> list[np.ndarray]:
    """The outputs of `build` for these inputs; formulas and expressions must agree."""
    inputs = [dsl.placeholder(array.shape, str(array.dtype)) for array in arrays]
    made = build(*inputs)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    given = {id(tensor): array for tensor, array in zip(inputs, arrays, strict=True)}
    found = run(outputs, given, **how)
    by_bodies = run(outputs, given, bodies=True, **how)
    for tensor, one, other in zip(outputs, found, by_bodies, strict=True):
        np.testing.assert_array_equal(one, other, err_msg="formula and expression differ")
        assert one.dtype == dtype_of(tensor.dtype).numpy
        assert one.shape == tuple(int(size) for size in tensor.shape)
    return list(found)


def values(
    shape: Sequence[int], dtype: str, low: float = -4, high: float = 4, seed: int = 0
) -> np.ndarray:
    """Random values of the dtype; integers for integer dtypes, nonnegative for unsigned ones."""
    rng = np.random.default_rng([seed, len(shape), *map(ord, dtype)])
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype not in FLOATS:
        return rng.integers(
            max(int(low), 0) if dtype.startswith("u") else int(low), int(high) + 1, shape
        ).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype_of(dtype).numpy)


def assert_near(found: np.ndarray, wanted: Any, dtype: str, *, times: float = 1) -> None:
    """Raises unless `found` is the rounded float64 result, or exactly the integer one."""
    exact = np.asarray(wanted)
    assert found.shape == exact.shape
    if dtype not in FLOATS:
        np.testing.assert_array_equal(found, exact)
        return
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype_of(dtype).numpy).astype(np.float64)
    np.testing.assert_allclose(
        found.astype(np.float64), rounded, rtol=ULP[dtype] * times, atol=ULP[dtype] * times / 16
    )
