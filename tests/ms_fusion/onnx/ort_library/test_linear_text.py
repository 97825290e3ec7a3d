"""Products with constant weights as custom operators: numbers of float64, refused shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

from ms_fusion.onnx.ort_library.linear_text import LinearKernel, pack_weights
from ms_fusion.onnx.ort_library.operator_library import X86_LEVELS
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.ort_library.operator_session import make_operator_runner
from tests.tbe_impl.tolerances import assert_close

FORMULAS = {
    "": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu by erf": lambda x: x * (1 + erf(x / 2**0.5)) / 2,
    "gelu by tanh": lambda x: x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2,
}
SIZES = [
    (1, 1, 1),
    (3, 7, 33),
    (16, 40, 48),
    (57, 513, 70),
    (58, 1024, 31),
    (0, 4, 5),
    (1, 600, 300),
    (2, 5, 64),
    (150, 40, 40),
]
"""(rows, depth, columns): one row, tails of blocks and panels, aliased rows, several passes, tasks."""


@cases(
    "activation, has_residual, level",
    [
        ("", True, None),
        ("relu", False, None),
        ("silu", False, None),
        ("gelu by erf", True, X86_LEVELS[1][0]),
        ("gelu by tanh", False, None),
        pytest.param("gelu by erf", False, None, marks=FULL),
        pytest.param("", False, X86_LEVELS[1][0], marks=FULL),
        pytest.param("relu", True, X86_LEVELS[2][0], marks=FULL),
    ],
)
def test_linear_agrees_with_float64(
    activation: str, has_residual: bool, level: str | None, tmp_path: Path
) -> None:
    operator = LinearKernel(3, activation, has_residual).write()
    ranks = [3, 1, 1, *([3] if has_residual else [])]
    run = make_operator_runner(operator, ranks, tmp_path, level, threads=2)
    random = np.random.default_rng(1)
    for rows, depth, columns in SIZES:
        x = random.standard_normal((2, rows, depth)).astype(np.float32)
        weights = (random.standard_normal((depth, columns)) / depth**0.5).astype(np.float32)
        bias = random.standard_normal(columns).astype(np.float32)
        residual = random.standard_normal((2, rows, columns)).astype(np.float32)
        given = [x, pack_weights(weights), bias, *([residual] if has_residual else [])]
        exact = FORMULAS[activation](x.astype(np.float64) @ weights.astype(np.float64) + bias)
        assert_close(run(*given), exact + residual if has_residual else exact, "float32", times=8)


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    """The packed weights must fit the depth and the bias, and the residual must fit the result."""
    run = make_operator_runner(LinearKernel(2, "", True).write(), [2, 1, 1, 2], tmp_path, None)
    one = np.float32(1)
    right = [np.full(shape, one) for shape in ((3, 4), (32,), (5,), (3, 5))]
    assert run(*right).shape == (3, 5)
    for number, shape, named in ((0, (3, 5), 0), (1, (31,), 0), (2, (17,), 0), (3, (1, 5), 3)):
        wrong = [*right]
        wrong[number] = np.full(shape, one)
        with pytest.raises(Exception, match=f"input {named} of Linear_.* does not have the shape"):
            run(*wrong)
