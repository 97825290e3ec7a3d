"""Every operator on both back ends against its formula in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tbe_impl import ops
from tbe_impl.ops.formulas import FORMULAS
from tests.cases import FULL, cases
from tests.tbe_impl.ops.calls import Case, arrays, build, expected
from tests.tbe_impl.ops.cases import CASES
from tests.tbe_impl.tolerances import assert_close

NARROW = "float16"


def _ways() -> list[Any]:
    """Each case with each dtype; float32 in all its shapes, the others in the first.

    ``make test`` takes each case once, its dtypes in turn.
    """
    return [
        pytest.param(
            case, dtype, shapes, id=f"{case.name}-{number}-{dtype}-{way}",
            marks=() if not way and dtype == case.dtypes[number % len(case.dtypes)] else FULL,
        )
        for number, case in enumerate(CASES)
        for dtype in case.dtypes
        for way, shapes in enumerate(case.shapes if dtype == "float32" else case.shapes[:1])
    ]  # fmt: skip


@cases("case, dtype, shapes", _ways())
def test_an_operator_computes_its_formula(case: Case, dtype: str, shapes: Any) -> None:
    kernel = build(case, shapes, dtype)
    given = arrays(case, shapes, dtype)
    wanted = expected(case, given)
    result = case.result or dtype
    narrowest = NARROW if NARROW in (dtype, result) else result
    for backend in ("numpy", "cpu"):
        found = kernel(*given, backend=backend)
        found = found if isinstance(found, tuple) else (found,)
        assert len(found) == len(wanted) == case.outputs
        for one, exact in zip(found, wanted, strict=True):
            assert one.dtype == np.dtype(result)
            assert_close(one, exact, narrowest, times=case.times)


def test_every_operator_has_a_formula_and_is_tried() -> None:
    assert set(ops.names()) <= set(FORMULAS)
    assert {case.name for case in CASES} == set(ops.names())
    assert len(ops.names()) >= 60
