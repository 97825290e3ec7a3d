"""Operator files in the manners of those in public use, with the corners that stopped some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbe_impl
from tests.tbe_impl.ops.calls import describe
from tests.tbe_impl.tolerances import assert_close

TREE = Path(__file__).parent / "tree"
BACKENDS = ("numpy", "cpu")


def operator(name: str) -> Any:
    """An operator of the tree."""
    return tbe_impl.load_operator(TREE / "impl" / f"{name}.py", name, search_path=[TREE])


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers from -1 to 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_that_are_written_over_inputs_are_given_once(backend: str) -> None:
    tensor, number = describe((5, 7), "float32"), describe((1,), "float32")
    kernel = operator("nesterov_2020").build(tensor, tensor, number, tensor, tensor, tensor)
    var, accum, grad = (draw(5, 7, seed=seed) for seed in range(3))
    rate = np.array([0.1], np.float32)
    moved = 0.9 * accum.astype(np.float64) + grad
    found = kernel(var, accum, rate, grad, backend=backend)
    assert len(found) == 2
    assert_close(found[0], var - 0.1 * (grad + 0.9 * moved), "float32")
    assert_close(found[1], moved, "float32")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(5, 37), (-1, -1)])
def test_bits_conditions_and_packages_that_import_everything(backend: str, shape: Any) -> None:
    kernel = operator("masked_dynamic").build(
        describe(shape, "int8"), describe(shape, "float32"), describe(shape, "float32")
    )
    x = draw(5, 37) * 3
    condition = (draw(5, 37, seed=1) > 0).astype(np.int8)
    wanted = np.minimum(np.where(condition * (x > 0), x, 0), 1)
    assert_close(kernel(condition, x, backend=backend), wanted, "float32")
    assert_close(kernel(condition.astype(bool), x, backend=backend), wanted, "float32")


@pytest.mark.parametrize("backend", BACKENDS)
def test_names_that_only_old_operators_use(backend: str) -> None:
    tensor = describe((3, 50), "float32")
    x = draw(3, 50)
    kernel = operator("threshold_2020").build(tensor, tensor, [0.0, 0.5])
    wanted = np.minimum(np.maximum(x, 0) * 1e4, 1) + np.minimum(np.maximum(x - 0.5, 0) * 1e4, 1)
    assert_close(kernel(x, backend=backend), wanted, "float32", times=10)
