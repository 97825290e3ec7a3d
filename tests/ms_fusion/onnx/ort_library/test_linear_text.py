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
"""(rows, depth, columns): one row, tails of blocks and panels, aliased rows, passes, tasks."""

BETWEEN = 544
"""Columns of the first one of two products: more than the steps of a pass."""


@cases(
    "activation, has_residual, is_pair, level",
    [
        ("", True, False, None),
        ("relu", False, False, None),
        ("silu", False, True, None),
        ("gelu by erf", True, False, X86_LEVELS[1][0]),
        ("gelu by tanh", False, False, None),
        ("relu", True, True, None),
        pytest.param("gelu by erf", False, False, None, marks=FULL),
        pytest.param("silu", False, False, None, marks=FULL),
        pytest.param("", False, False, X86_LEVELS[1][0], marks=FULL),
        pytest.param("gelu by tanh", True, True, X86_LEVELS[1][0], marks=FULL),
        pytest.param("relu", True, False, X86_LEVELS[2][0], marks=FULL),
        pytest.param("", True, True, X86_LEVELS[2][0], marks=FULL),
    ],
)
def test_linear_agrees_with_float64(
    activation: str, has_residual: bool, is_pair: bool, level: str | None, tmp_path: Path
) -> None:
    operator = LinearKernel(3, activation, has_residual, is_pair).write()
    ranks = [3, 1, 1, *([1, 1] if is_pair else []), *([3] if has_residual else [])]
    run = make_operator_runner(operator, ranks, tmp_path, level, threads=2)
    random = np.random.default_rng(1)
    for rows, depth, columns in SIZES:
        x = random.standard_normal((2, rows, depth)).astype(np.float32)
        residual = random.standard_normal((2, rows, columns)).astype(np.float32)
        given, exact = [x], x.astype(np.float64)
        for number, width in enumerate([BETWEEN, columns] if is_pair else [columns]):
            shape = (exact.shape[-1], width)
            weights = (random.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32)
            bias = random.standard_normal(width).astype(np.float32)
            given += [pack_weights(weights), bias]
            exact = exact @ weights.astype(np.float64) + bias
            exact = exact if number else FORMULAS[activation](exact)
        if has_residual:
            given, exact = [*given, residual], exact + residual
        assert_close(run(*given), exact, "float32", times=8)


@cases(
    "kernel, shapes, wrong",
    [
        (
            LinearKernel(2, "", has_residual=True),
            [(3, 4), (32,), (5,), (3, 5)],
            [(0, (3, 5), 0), (1, (31,), 0), (2, (17,), 0), (3, (1, 5), 3)],
        ),
        (
            LinearKernel(2, "relu", has_residual=True, is_pair=True),
            [(3, 4), (128,), (32,), (256,), (5,), (3, 5)],
            [(1, (96,), 0), (2, (31,), 2), (3, (160,), 3), (5, (1, 5), 5)],
        ),
    ],
)
def test_wrong_shapes_are_refused(
    kernel: LinearKernel,
    shapes: list[tuple[int, ...]],
    wrong: list[tuple[int, tuple[int, ...], int]],
    tmp_path: Path,
) -> None:
    """The packed weights must fit the depth and the bias, and the residual must fit the result."""
    ranks = [len(shape) for shape in shapes]
    run = make_operator_runner(kernel.write(), ranks, tmp_path, None)
    right = [np.full(shape, np.float32(1)) for shape in shapes]
    assert run(*right).shape == (3, 5)
    for number, shape, named in wrong:
        given = [*right]
        given[number] = np.full(shape, np.float32(1))
        with pytest.raises(Exception, match=f"input {named} of Linear_.* does not have the shape"):
            run(*given)
