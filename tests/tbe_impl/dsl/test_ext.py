"""ext operations equal their expansions."""

from __future__ import annotations

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.dsl.operations.expansions import EXPANSIONS
from tbe_impl.dsl.tensor import stages_of
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.tbe_impl.dsl.graphs import compute, values

RANGES = {
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-0.999, 0.999),
    "acosh": (1.01, 9),
    "log1p": (-0.9, 9),
    "log2": (0.01, 99),
    "log10": (0.01, 99),
    "sinh": (-5, 5),
    "cosh": (-5, 5),
    "expm1": (-5, 3),
    "exp2": (-10, 5),
    "tan": (-1.4, 1.4),
    "pow": (0.1, 3),
    "reciprocal": (0.1, 9),
}
TWO = ("atan2", "pow", "fmod", "floor_divide")


@cases("name", [name for name in EXPANSIONS if name != "where"])
@cases(
    "dtype, tolerance",
    [("float16", 1e-2), pytest.param("float32", 1e-5, marks=FULL), ("float64", 1e-5)],
)
def test_a_word_and_its_expansion_agree(name: str, dtype: str, tolerance: float) -> None:
    low, high = RANGES.get(name, (-20, 20))
    arrays = [values((999,), dtype, low, high, 1), values((999,), dtype, 0.5, 3, 2)][
        : 2 if name in TWO else 1
    ]
    (word,) = compute(dsl.EXT_OPERATIONS[name], *arrays)
    (expanded,) = compute(lambda *x: dsl.ext.expand(name, *x), *arrays)
    assert word.dtype == expanded.dtype
    one, other = word.astype(np.float64), expanded.astype(np.float64)
    assert np.max(np.abs(one - other) / (1 + np.abs(one))) <= tolerance


@cases("name", [name for name in EXPANSIONS if name != "where"])
def test_an_expansion_has_words_of_cann_only(name: str) -> None:
    inputs = [dsl.placeholder((4,), "float16") for _ in range(2 if name in TWO else 1)]
    for op in stages_of([dsl.ext.expand(name, *inputs)]):
        assert op.kind == "placeholder" or (
            op.dsl_call is not None and op.dsl_call.name in dsl.OPERATIONS
        )


def test_what_has_no_expansion_says_so() -> None:
    with pytest.raises(InputError, match="cumsum has no expansion into words of CANN"):
        dsl.ext.expand("cumsum", dsl.placeholder((4,)))


def test_where_is_vsel() -> None:
    x = values((3, 4), "float32")
    (found,) = compute(lambda t: dsl.ext.where(dsl.vcmp(t, 0, "gt"), t, 0.0), x)
    np.testing.assert_array_equal(found, np.where(x > 0, x, 0))


def test_functions_of_integers_are_refused() -> None:
    with pytest.raises(InputError, match="tanh takes floating-point tensors") as caught:
        dsl.ext.tanh(dsl.placeholder((4,), "int32", "n"))
    assert "test_ext.py" in str(caught.value) and "int32 (n)" in str(caught.value)
