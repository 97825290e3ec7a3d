"""``te.lang.cce`` casts outputs to the dtype of the last placeholder on the walk from outputs."""

from __future__ import annotations

import numpy as np

from tests.cases import cases
from tests.tbe_impl.tolerances import assert_close
from tests.trials.operators import described, operator

SHAPE = (6, 16)


def normal(dtype: str, seed: int) -> np.ndarray:
    """Values of both signs."""
    return np.random.default_rng(seed).standard_normal(SHAPE).astype(dtype)


@cases("dtype", ["float16", "float32"])
def test_values_chosen_by_integers_stay_floats(dtype: str) -> None:
    x, update = normal(dtype, 1), normal(dtype, 2)
    index, places = np.zeros(SHAPE, "int32"), np.arange(96, dtype="int32").reshape(SHAPE) % 3
    kernel = operator("mixed_dtypes", "chosen_by_index").build(
        *(described(SHAPE, kind) for kind in (dtype, "int32", dtype, "int32", dtype))
    )
    found = kernel(x, index, update, places)
    assert found.dtype == dtype
    assert np.array_equal(found, np.where(index == places, update, x))


def test_every_result_of_a_fused_step_is_cast_back() -> None:
    rate, gradient, moment = normal("float32", 3), normal("float16", 4), normal("float16", 5)
    kernel = operator("mixed_dtypes", "step_of_moments").build(
        *(described(SHAPE, kind) for kind in ("float32", *["float16"] * 4))
    )
    total, root = kernel(rate, gradient, moment)
    exact = rate.astype("float64") * gradient + moment
    assert (total.dtype, root.dtype) == (np.float16, np.float16)
    assert_close(total, exact, "float16")
    assert_close(root, np.sqrt(np.abs(exact)), "float16")


@cases(
    "first, last, result",
    [
        ("float32", "float16", "float16"),
        ("float16", "float32", "float32"),
        ("int32", "float16", "float16"),
        ("int32", "float32", "float32"),
        ("float16", "int32", "int32"),
        ("int8", "float16", "float16"),
    ],
)
def test_the_last_placeholder_decides(first: str, last: str, result: str) -> None:
    a, b = ((normal("float32", seed) * 9).astype(dtype) for seed, dtype in ((6, first), (7, last)))
    kernel = operator("mixed_dtypes", "difference_of_two").build(
        *(described(SHAPE, dtype) for dtype in (first, last, last))
    )
    found = kernel(a, b)
    exact = np.abs(a.astype("float64") - b)
    assert found.dtype == result
    assert_close(found, exact.astype("int32") if result == "int32" else exact, result)
