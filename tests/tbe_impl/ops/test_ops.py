"""Every operator on both back ends against its formula in float64."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tbe_impl import ops
from tbe_impl.cpu import prepared_kernel as cpu
from tbe_impl.ops.formulas import FORMULAS
from tests.cases import FULL, GROUP, cases
from tests.tbe_impl.ops.calls import Case, arrays, build, expected
from tests.tbe_impl.ops.cases import CASES, ONE, PAIRS, SAME2
from tests.tbe_impl.tolerances import assert_close

NARROW = "float16"
TOGETHER = 50
LIKE_ANOTHER = {
    "addcdiv",
    "addcmul",
    "apply_adagrad",
    "apply_adam",
    "apply_adam_weight_decay",
    "apply_rms_prop",
    "apply_sgd",
    "axpby",
    "batch_norm_infer",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l2_loss",
    "l2_normalize",
    "lamb_update",
    "lerp",
    "log_softmax",
    "masked_fill",
    "mse_loss",
    "reduce_all",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "smooth_l1_loss",
    "softmax_grad",
}
"""Operators whose CPU code is generated like that of a compiled one."""
BY_NUMPY_ALONE = {
    id(case)
    for place, case in enumerate(CASES)
    if case.name in LIKE_ANOTHER
    or any(other.name == case.name for other in CASES[:place])
    or (case.shapes in (ONE, SAME2, PAIRS) and place % 5)
}
"""Cases that ``make test`` does not compile, such as an operator's second case: both back ends read
the same graph.
"""


def _ways() -> list[Any]:
    """Each case with each dtype; float32 in all its shapes, the others in the first.

    ``make test`` takes each case once, with alternating dtypes.
    """
    return [
        pytest.param(
            case,
            dtype,
            shapes,
            id=f"{case.name}-{number}-{dtype}-{way}",
            marks=() if not way and dtype == case.dtypes[number % len(case.dtypes)] else FULL,
        )
        for number, case in enumerate(CASES)
        for dtype in case.dtypes
        for way, shapes in enumerate(case.shapes if dtype == "float32" else case.shapes[:1])
    ]


def is_compiled(case: Case, config: pytest.Config) -> bool:
    return config.getoption("--full") or id(case) not in BY_NUMPY_ALONE


@pytest.fixture
def built(request: pytest.FixtureRequest) -> dict[Any, Any]:
    """The kernels of all rows of the item, built by few compiler calls; rows build the others."""
    made, planned = {}, []
    for row in request.node.callspec.params[GROUP]:
        case, dtype, shapes = row.arguments.values()
        with suppress(Exception):
            kernel = made[id(case), dtype, shapes] = build(case, shapes, dtype)
            if is_compiled(case, request.config):
                planned.append(kernel.planned)
    for first in range(0, len(planned), TOGETHER):
        cpu.build_together(planned[first : first + TOGETHER])
    return made


@cases("case, dtype, shapes", _ways())
def test_an_operator_computes_its_formula(
    case: Case, dtype: str, shapes: Any, built: dict[Any, Any], request: pytest.FixtureRequest
) -> None:
    kernel = built.get((id(case), dtype, shapes)) or build(case, shapes, dtype)
    given = arrays(case, shapes, dtype)
    wanted = expected(case, given)
    result = case.result or dtype
    narrowest = NARROW if NARROW in (dtype, result) else result
    for backend in ("numpy", "cpu") if is_compiled(case, request.config) else ("numpy",):
        if backend == "cpu":
            assert kernel.compiled  # a call would fall back on the NumPy back end
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
