"""Operators that are expanded before MindSpore forms groups: against float64, in one group.

Some are expanded by source, others by MindSpore's own functions or gradients.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

from ms_fusion.mindspore.flags.generator_limits import EXCLUDED_OPERATORS
from ms_fusion.ops import OPERATORS, operators_with
from ms_fusion.ops.op_info import Trait
from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

TOLERANCE = {"Float32": 3e-6, "Float16": 2e-3}


class Case(NamedTuple):
    """One operator.

    Attributes:
        call: the function in MindSpore, of x.
        cell: the Cell; empty if there is none.
        parameter: name of the Cell's input.
        value, slope: the function and its derivative in NumPy.
    """

    call: str
    cell: str
    parameter: str
    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]


CASES = {
    "CeLU": Case(
        "ops.celu(x, 0.7)",
        "nn.CELU(0.7)",
        "x",
        lambda x: np.where(x < 0, 0.7 * np.expm1(x / 0.7), x),
        lambda x: np.where(x < 0, np.exp(x / 0.7), 1),
    ),
    "HShrink": Case(
        "ops.hardshrink(x, 0.3)",
        "nn.HShrink(0.3)",
        "input",
        lambda x: np.where(np.abs(x) > 0.3, x, 0),
        lambda x: np.abs(x) > 0.3,
    ),
    "LogAddExp": Case(
        "ops.logaddexp(x, 0.5 - x)",
        "",
        "",
        lambda x: np.logaddexp(x, 0.5 - x),
        lambda x: np.tanh(x - 0.25),
    ),
    "LogSigmoid": Case(
        "ops.logsigmoid(x)",
        "nn.LogSigmoid()",
        "input_x",
        lambda x: -np.logaddexp(0, -x),
        lambda x: special.expit(-x),
    ),
    "Softsign": Case(
        "ops.Softsign()(x)",
        "nn.Softsign()",
        "x",
        lambda x: x / (1 + np.abs(x)),
        lambda x: (1 + np.abs(x)) ** -2.0,
    ),
    "SoftShrink": Case(
        "ops.softshrink(x, 0.3)",
        "nn.SoftShrink(0.3)",
        "input",
        lambda x: x - np.clip(x, -0.3, 0.3),
        lambda x: np.abs(x) > 0.3,
    ),
}
WITHOUT_KERNEL = {
    "LogAddExp": "mint.logaddexp(x, x)",
    "LogSigmoid": "mint.nn.functional.logsigmoid(x)",
}
"""Operator without a CPU kernel → a call of it."""
WAYS = {
    (name, way): place
    for name, one in CASES.items()
    for place, way in enumerate(("function", "cell", "named input"))
    if one.cell or way == "function"
}
EXPANDED = {name for name, one in OPERATORS.items() if one.mindspore.source_expansion is not None}


@pytest.fixture(scope="module")
def run_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    rows = {name: (one.call, one.cell, one.parameter) for name, one in CASES.items()}
    place = tmp_path_factory.mktemp("expansions") / "work"
    given = json.dumps(rows), json.dumps(WITHOUT_KERNEL)
    return run(PROGRAMS / "source_expansions.py", place, *given).result


def test_every_expanded_operator_is_tried() -> None:
    assert CASES.keys() >= EXPANDED
    assert EXCLUDED_OPERATORS.keys() >= EXPANDED
    refused = {name for name in operators_with(Trait.NO_CPU_KERNEL) if not name.endswith("Grad")}
    assert refused == WITHOUT_KERNEL.keys()


@pytest.mark.mindspore
@cases("name, way", list(WAYS))
@cases("dtype", ["Float32", "Float16"])
def test_values_and_gradients_are_those_of_float64(
    name: str, way: str, dtype: str, run_results: dict[str, Any]
) -> None:
    x, dy = (
        np.array(run_results[one]).astype(dtype.lower()).astype(np.float64) for one in ("x", "dy")
    )
    case, near = CASES[name], {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    result, unfused = (
        run_results[f"{name} {dtype} {how}"][WAYS[name, way]] for how in ("auto", "off")
    )
    wanted = 2 * case.value(x[:-1]), 2 * case.slope(x[:-1]) * dy[:-1]
    for (result_dtype, one), other in zip(result, wanted, strict=True):
        assert result_dtype == dtype
        np.testing.assert_allclose(one[:-1], other, **near)
    # The last row begins with NaN, infinities and thresholds. The gradient at NaN may be 0 or NaN.
    for first, ((_, one), (_, other)) in enumerate(zip(result, unfused, strict=True)):
        last = slice(first, run_results["special"])
        np.testing.assert_allclose(one[-1][last], other[-1][last], **near)


@pytest.mark.mindspore
@cases("name", list(CASES))
def test_forward_and_gradient_are_one_group_each(name: str, run_results: dict[str, Any]) -> None:
    for kernels, unfused in run_results[f"{name} groups"]:
        assert len(kernels) == 1 and unfused == []
        assert name not in EXPANDED or (name not in kernels[0] and "Select" in kernels[0])


@pytest.mark.mindspore
@cases("name", list(WITHOUT_KERNEL))
def test_mindspore_refuses_what_has_no_cpu_kernel(name: str, run_results: dict[str, Any]) -> None:
    with_fusion, without = run_results[f"{name} refused"]
    assert f"Unsupported op [{name}] on CPU" in with_fusion
    assert f"Unsupported op [{name}] on CPU" in without


@pytest.mark.mindspore
def test_one_inside_of_another_changes_nothing() -> None:
    from ms_fusion.mindspore.patches import source_expansions

    before = {owner: dict(vars(owner)) for owner in source_expansions.CELLS}
    with source_expansions.expand_by_source():
        with source_expansions.expand_by_source():
            pass
        assert all(hasattr(owner, "scalar_argument") for owner in before)
    assert before == {owner: dict(vars(owner)) for owner in before}
