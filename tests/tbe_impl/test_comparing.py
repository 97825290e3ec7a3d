"""Errors and tolerances of a check, and formulas given as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tbe_impl.cli.formula import evaluate
from tbe_impl.comparing import coarsest_dtype, compare_arrays, spacing
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.errors import InputError
from tests.cases import cases

NAN, INF = np.nan, np.inf


SPACED = [0.0, 1.0, 1.5, -3.0, 1e-7, 6e4]


@cases(
    "values, dtype, expected",
    [
        *(
            (SPACED, dtype, np.abs(np.spacing(np.array(SPACED, dtype))).tolist())
            for dtype in ("float16", "float32", "float64")
        ),
        ([1.0, 3.0], "bfloat16", [2.0**-7, 2.0**-6]),
    ],
    ids=lambda row: row[1],
)
def test_spacing_is_that_of_the_dtype(values: list[float], dtype: str, expected: Any) -> None:
    wide = np.array(values, dtype if dtype != "bfloat16" else None).astype(np.float64)
    assert spacing(wide, dtype).tolist() == expected


def compared(got: Any, expected: Any, dtype: str = "float32", **more: Any) -> Any:
    array = np.asarray(got).astype(dtype_of(dtype).numpy)
    return compare_arrays(
        "y",
        "formula",
        array,
        np.asarray(expected, np.float64),
        dtype=dtype,
        through=dtype if dtype.startswith("float") else "float32",
        **more,
    )


@cases(
    "got, expected, dtype, wrong",
    [
        ([1.0, 2.0], [1.0, 2.00001], "float32", 0),
        ([1.0, 2.0], [1.0, 2.01], "float32", 1),
        ([1.0, 2.0], [1.0, 2.001], "float16", 0),
        ([NAN, INF, -INF], [NAN, INF, -INF], "float32", 0),
        ([NAN, 1.0, INF], [1.0, NAN, 1.0], "float32", 3),
        ([1.0, -INF], [INF, INF], "float32", 2),
        ([INF], [70000.0], "float16", 0),
        ([6e-7, 0.0], [5.7e-7, 3e-8], "float16", 0),
        ([1e-6], [5.7e-7], "float16", 1),
        ([1, 2, 3], [1, 2, 4], "int32", 1),
        ([True, False], [1, 0], "bool", 0),
        ([1.0], [[[1.0]]], "float32", 0),
        ([1.0, 1.0], 1.0, "float32", 0),
    ],
)
def test_values_beyond_the_tolerance_are_counted(
    got: Any, expected: Any, dtype: str, wrong: int
) -> None:
    found = compared(got, expected, dtype)
    assert (found.wrong, found.is_within_tolerance) == (wrong, not wrong)


def test_the_worst_element_is_named() -> None:
    found = compared([[1.0, 2.0], [3.0, 9.0]], [[1.0, 2.0], [3.5, 4.0]])
    assert (found.where, found.got, found.expected, found.max_absolute) == ((1, 1), 9.0, 4.0, 5.0)
    assert found.max_ulp == 5.0 / 2.0**-21


def test_another_shape_is_a_problem() -> None:
    found = compared([1.0, 2.0], [1.0, 2.0, 3.0])
    assert not found.is_within_tolerance and "shape" in found.problem


def test_elements_at_a_step_are_left_out_when_they_are_few() -> None:
    exact, rounded = np.zeros(200), np.zeros(200, np.float32)
    rounded[7] = 1
    at_step = compared(rounded, exact, rounded=rounded, meant=exact)
    assert (at_step.wrong, at_step.at_steps) == (0, 1)
    rounded[:50] = 1
    assert compared(rounded, exact, rounded=rounded, meant=exact).wrong == 50


def test_a_narrow_cast_widens_the_tolerance() -> None:
    x = placeholder((4,), "float32", "x")
    assert coarsest_dtype([OPERATIONS["vexp"](x)]) == "float32"
    narrow = OPERATIONS["cast_to"](x, "float16")
    assert coarsest_dtype([OPERATIONS["cast_to"](narrow, "float32")]) == "float16"
    assert coarsest_dtype([OPERATIONS["cast_to"](x, "int32")]) == "float32"


X = np.array([[-1.0, 0.5, 2.0], [3.0, -4.0, 0.0]])


@cases(
    "text, expected",
    [
        ("x/(1+exp(-beta*x))", X / (1 + np.exp(-1.5 * X))),
        ("np.maximum(x, 0)", np.maximum(X, 0)),
        ("exp(x - max(x, axis=-1, keepdims=True))", np.exp(X - X.max(-1, keepdims=True))),
        ("where(x > 0, x, beta*x)", np.where(X > 0, X, 1.5 * X)),
        ("x if x > 0 else 0", np.where(X > 0, X, 0)),
        ("0 < x <= 2", (X > 0) & (X <= 2)),
        ("x[:, 1:]", X[:, 1:]),
        ("x[..., -1]", X[..., -1]),
        ("sum(x, axis=axes)", X.sum((0, 1))),
        ("x**2 + pi", X**2 + np.pi),
        ("2**3**2", 512.0),
        ("9**9**9**9", INF),
        ("2" + " " * 9_999, 2.0),
    ],
)
def test_formula_texts_are_evaluated(text: str, expected: Any) -> None:
    (found,) = evaluate(text, {"x": X, "beta": 1.5, "axes": (0, 1)})
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_a_comma_makes_several() -> None:
    assert len(evaluate("x+1, x-1", {"x": X})) == 2


@cases(
    "text",
    [
        "__import__('os').system('true')",
        "x.tofile('f')",
        "open('f')",
        "np.save('f', x)",
        "np.load('f')",
        "fromfile('f')",
        "x.__class__",
        "(lambda: x)()",
        "[x for x in (1,)]",
        "f'{x}'",
        "'text'",
        "x +",
        "x" + " " * 10_000,
        "",
        "exec('1')",
        "np.lib.npyio",
        "y",
        "sum(x, out=x)",
        "np.random.rand(3)",
        "getattr(x, 'tofile')",
        "memmap('f')",
        "x[9]",
        "dot(x, x)",
        "x := 1",
        "*x",
        "(" * 500 + ")" * 500,
    ],
)
def test_formulas_reach_nothing_else(text: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        evaluate(text, {"x": X})
    assert list(tmp_path.iterdir()) == []
