"""Operators built for dynamic sizes: one kernel for all, and another for broadcasting sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tbe_impl.errors import InputError
from tbe_impl.ops.formulas import FORMULAS
from tests.cases import FULL, cases
from tests.tbe_impl.ops.calls import Case, arrays, build, expected
from tests.tbe_impl.tolerances import assert_close

CASES = (
    ("gelu", {}, 1, (((5, 7),), ((3, 64),))),
    ("softmax", {}, 1, (((5, 7),), ((3, 64),))),
    ("reduce_mean", {"axes": [0], "keep_dims": True}, 1, (((5, 7),), ((3, 64),))),
    ("relu_grad", {}, 2, (((5, 7), (5, 7)), ((3, 64), (3, 64)))),
    ("maximum", {}, 2, (((5, 7), (5, 7)), ((5, 7), (1, 7)), ((5, 1), (1, 9)))),
    ("lerp", {}, 3, (((5, 7), (5, 7), (5, 7)), ((5, 7), (5, 1), (1, 7)))),
)


IN_C = ("softmax", "reduce_mean", "maximum")
"""Compiled in `make test`; NumPy runs the graphs of the others."""
ROWS = [
    pytest.param(
        backend,
        *case,
        id=f"{case[0]}-{backend}",
        marks=() if backend == "numpy" or case[0] in IN_C else FULL,
    )
    for backend in ("numpy", "cpu")
    for case in CASES
]


@cases("backend, name, attributes, inputs, ways", ROWS)
def test_one_kernel_for_many_shapes(
    backend: str, name: str, attributes: dict[str, Any], inputs: int, ways: Any
) -> None:
    case = Case(name, ways, attributes)
    kernel = build(case, [(-1, -1)] * inputs, "float32")
    for shapes in ways:
        given = arrays(case, shapes, "float32")
        found = kernel(*given, backend=backend)
        wanted = expected(case, given)[0]
        assert found.shape == np.shape(wanted)
        assert_close(found, wanted, "float32", times=2)


def test_sizes_that_fit_in_no_way_are_refused() -> None:
    kernel = build(Case("maximum", ()), [(-1, -1), (-1, -1)], "float32")
    # both have six elements, so that the element count does not distinguish them
    with pytest.raises(InputError, match="differs between two arrays"):
        kernel(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32))
    assert set(FORMULAS) > {case[0] for case in CASES}
