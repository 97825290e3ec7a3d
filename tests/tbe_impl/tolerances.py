"""Tolerances of kernels against float64 formulas, by the narrowest dtype of the computation."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}
"""Relative to |expected| and to the array's root mean square: about four narrow roundings."""


def assert_close(found: np.ndarray, wanted: Any, dtype: str, *, times: float = 1.0) -> None:
    """Raises unless each element is within the tolerance; integers must be equal."""
    exact = np.asarray(wanted)
    if found.dtype.kind in "iub" and dtype not in TOLERANCE:
        np.testing.assert_array_equal(found, exact.reshape(found.shape))
        return
    limit = TOLERANCE[dtype] * times
    scale = float(np.sqrt(np.mean(np.square(exact, dtype=np.float64)))) if exact.size else 0.0
    np.testing.assert_allclose(
        found.astype(np.float64), exact.reshape(found.shape), rtol=limit, atol=limit * scale
    )
