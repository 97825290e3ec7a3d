"""The table of formulas, and the public access to the operators."""

from __future__ import annotations

import doctest
from types import ModuleType

import numpy as np
import pytest

from tbe_impl import ops
from tbe_impl.errors import InputError
from tbe_impl.ops import formula, formulas
from tbe_impl.ops.formulas import FORMULAS, SAME
from tests.cases import cases


@cases("module", (ops, formula, formulas), ids=lambda item: item.__name__)
def test_the_examples_run(module: ModuleType) -> None:
    # collected here because the operators beside them can be imported with CANN's names only
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_a_formula_says_what_it_takes() -> None:
    assert FORMULAS["swish"].arguments == ("x",)
    assert dict(FORMULAS["swish"].attributes) == {"beta": 1.0}
    assert FORMULAS["add_n"].arguments == ("*xs",)
    assert FORMULAS["clip_by_value"].arguments == ("x", "low", "high")


def test_other_names_of_operators_and_attributes_are_known() -> None:
    assert set(SAME) <= set(FORMULAS)
    assert FORMULAS["softmax_v2"] is FORMULAS["softmax"]
    x = np.array([1.0])
    assert FORMULAS["swish"](x, scale=3.0) == FORMULAS["swish"](x, beta=3.0) != FORMULAS["swish"](x)


def test_an_operator_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"no operator swich.*Did you mean swish"):
        ops.load("swich")
