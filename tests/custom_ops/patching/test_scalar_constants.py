"""Scalars in the source of a Cell: values that are known, and values that are not."""

from __future__ import annotations

import ast
import math

import pytest

from custom_ops.patching.data_flow import Flow
from custom_ops.patching.partial_evaluation import Scope
from custom_ops.patching.scalar_constants import value_of
from tests.cases import cases

pytestmark = pytest.mark.mindspore


@cases(
    "text, value",
    [
        ("2.5", 2.5),
        ("-2", -2),
        ("half", 0.5),
        ("-half", -0.5),
        ("other", None),
        ("x", None),
        ("half + 1", 1.5),
        ("half - 1", -0.5),
        ("half * 3", 1.5),
        ("half / 4", 0.125),
        ("half / 1", 0.5),
        ("half / 0", None),
        ("half / x", None),
        ("x * half", None),
        ("half ** 2", None),
        ("ops.ones_like(x)", 1),
        ("ops.zeros_like(x)", 0),
        ("ops.full_like(x, 7)", 7),
        ("ops.full_like(x, fill_value=-7)", -7),
        ("ops.full_like(x)", None),
        ("ops.full((2, 3), half)", 0.5),
        ("ops.full((2, 3))", None),
        ("ops.cast(half, x.dtype)", 0.5),
        ("ops.ones_like(x).astype(x.dtype)", 1),
        ("ops.zeros_like(x).to(x.dtype)", 0),
        ("x.to(half)", None),
        ("float('-inf')", -math.inf),
        ("float('one')", None),
        ("float()", 0),
        ("unknown.finfo(x.dtype).min", -math.inf),
        ("unknown.finfo(x.dtype).max", None),
        ("unknown(3)", None),
    ],
    ids=lambda given: str(given),
)
def test_value_of_an_expression(text: str, value: float | None) -> None:
    from mindspore import ops

    module = ast.parse(f"half = 0.5\nother = x\nresult = {text}\n")
    result = module.body[-1]
    assert isinstance(result, ast.Assign)
    names = {"ops": ops}
    function = eval("lambda self, x: None", names)  # noqa: S307
    scope = Scope(None, function, frozenset({"half", "other", "x"}))
    found = value_of(result.value, Flow(module.body, ["x"]), scope)
    assert found == value and (found is None) == (value is None)
