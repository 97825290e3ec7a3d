"""How far a kernel's result may be from the formula in float64, by the narrowest dtype that it passes through."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}
"""Relative to |expected| and to the root mean square of the array: about four roundings of a narrow dtype."""


def assert_close(found: np.ndarray, wanted: Any, dtype: str, *, times: float = 1.0) -> None:
    """Raises unless each element is near what it should be; whole numbers have to be the same."""
    exact = np.asarray(wanted)
    if found.dtype.kind in "iub" and dtype not in TOLERANCE:
        np.testing.assert_array_equal(found, exact.reshape(found.shape))
        return
    limit = TOLERANCE[dtype] * times
    scale = float(np.sqrt(np.mean(np.square(exact, dtype=np.float64)))) if exact.size else 0.0
    np.testing.assert_allclose(
        found.astype(np.float64), exact.reshape(found.shape), rtol=limit, atol=limit * scale
    )
