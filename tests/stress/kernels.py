"""Small kernels for the stress run, each with its expected result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.arguments import Argument
from tbe_impl.codegen.options import Options
from tbe_impl.kernel import Kernel

POINTS = np.linspace(-5, 5, 1001, dtype=np.float32)


def kernel_of(
    build: Callable[..., Any], *arrays: np.ndarray, name: str = "stress", **options: Any
) -> Kernel:
    """The kernel of `build` for arrays like these."""
    inputs = [dsl.placeholder(array.shape, str(array.dtype)) for array in arrays]
    made = build(*inputs)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    return Kernel(name, "cpu", _arguments(inputs), _arguments(outputs), options=Options(**options))


def _arguments(tensors: Sequence[Any]) -> tuple[Argument, ...]:
    return tuple(Argument(t, tuple(int(size) for size in t.shape), t.name) for t in tensors)


def swish(number: int, points: np.ndarray = POINTS, **options: Any) -> Kernel:
    """x / (1 + e^−bx) with another b for each number, so that each has different code."""
    beta = 1 + number / 4096

    def build(x: Any) -> Any:
        return dsl.vdiv(x, dsl.vadds(dsl.vexp(dsl.vmuls(x, -beta)), 1.0))

    return kernel_of(build, points, **options)


def swish_is_right(number: int, found: np.ndarray, points: np.ndarray = POINTS) -> bool:
    """Whether the result is right."""
    x = points.astype(np.float64)
    exact = x / (1 + np.exp(-(1 + number / 4096) * x))
    return bool(np.all(np.abs(found - exact) <= 1e-6 * np.abs(exact) + 1e-37))


def check_swish(number: int, **options: Any) -> None:
    """Raises unless a kernel is compiled or cached, and right; the NumPy back end fails."""
    kernel = swish(number, **options)
    kernel.compiled  # raises where a call would warn and continue without it
    assert swish_is_right(number, kernel(POINTS)), f"kernel {number} computed wrong numbers"
