"""Division by a constant."""

from __future__ import annotations

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.program import write_program
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.codegen.graphs import assert_same, marches, run_both

POWERS = {"float32": (0, 1, 3, -5, 126, -126), "float64": (0, 1, 3, -5, 1022, -1022)}
OTHERS = {
    "float32": (3.0, 0.0, 2.0**127, 2.0**-149, 2.0**-127, np.inf, np.nan),
    "float64": (3.0, 0.0, 2.0**1023, 5e-324, np.inf, np.nan),
}


def by(number: float, x: dsl.Tensor) -> dsl.Tensor:
    return dsl.vdiv(x, dsl.broadcast(dsl.const(number, x.dtype), x.shape))


def numbers(dtype: str) -> np.ndarray:
    """Divisors of all magnitudes, with some of fewer digits."""
    info, rng = np.finfo(dtype), np.random.default_rng(0)
    sizes = np.exp2(rng.uniform(np.log2(info.smallest_subnormal) + 1, np.log2(info.max) - 1, 1000))
    odd = [0.0, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal]
    x = np.concatenate([sizes, odd]).astype(dtype)
    return np.concatenate([x, -x])


@cases("march", marches(), sample=2)
@cases("dtype", POWERS)
def test_by_a_power_of_two_is_a_product(
    dtype: str, march: str, cache: Store, subtests: pytest.Subtests
) -> None:
    x, given = numbers(dtype), dsl.placeholder(numbers(dtype).shape, dtype)
    divisors = [sign * 2.0**power for power in POWERS[dtype] for sign in (1, -1)]
    both = run_both(
        lambda one: [by(number, one) for number in divisors], x, cache=cache, march=march
    )
    for number, (found, _) in zip(divisors, both, strict=True):
        with subtests.test(number), np.errstate(all="ignore"):
            assert_same(found, x / x.dtype.type(number))
            source = write_program([by(number, given)], [given], name="kernel").source
            assert "_over(" not in source and " / " not in source


@cases("dtype", OTHERS)
def test_division_by_another_number_stays_a_division(
    dtype: str, cache: Store, subtests: pytest.Subtests
) -> None:
    x, given = numbers(dtype), dsl.placeholder(numbers(dtype).shape, dtype)
    both = run_both(lambda one: [by(number, one) for number in OTHERS[dtype]], x, cache=cache)
    for number, (found, _) in zip(OTHERS[dtype], both, strict=True):
        with subtests.test(number), np.errstate(all="ignore"):
            assert "_over(" in write_program([by(number, given)], [given], name="kernel").source
            np.testing.assert_array_max_ulp(found, x / x.dtype.type(number), 1)
