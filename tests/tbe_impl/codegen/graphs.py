"""Runs graphs on the cpu and the NumPy back ends, for tables of cases."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.cpu import prepared_kernel
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime import machine
from tbe_impl.runtime.store import Store
from tests.cases import FULL

AVX2, SSE = "x86-64-v3", "x86-64-v2"


def marches() -> list[Any]:
    """Processors to compile for: this one; AVX2 and SSE4.2 if this one can run their code."""
    known = platform.machine() in ("x86_64", "AMD64") and {"avx2", "fma", "f16c"} <= set(
        machine.cpu_features()
    )
    return ["", AVX2, pytest.param(SSE, marks=FULL)] if known else [""]


def run_both(
    build: Callable[..., Any],
    *arrays: np.ndarray,
    cache: Store,
    threads: int = 1,
    **options: Any,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Each output of `build`: from the cpu back end, and from the NumPy one."""
    kernel, outputs, inputs = prepare(build, *arrays, cache=cache, **options)
    given = {id(tensor): array for tensor, array in zip(inputs, arrays, strict=True)}
    rounding = options.get("rounding", "accurate")
    wanted = evaluate.run(outputs, given, rounding=rounding)
    return list(zip(kernel.run(arrays, {}, threads), wanted, strict=True))


def prepare(
    build: Callable[..., Any],
    *arrays: np.ndarray,
    cache: Store,
    name: str = "kernel",
    **options: Any,
) -> tuple[prepared_kernel.CpuKernel, Sequence[Any], Sequence[Any]]:
    """A kernel, its outputs and its inputs."""
    inputs = [dsl.placeholder(array.shape, str(array.dtype)) for array in arrays]
    made = build(*inputs)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    kernel = prepared_kernel.prepare(
        outputs, inputs, name=name, options=Options(**options), cache=cache
    )
    return kernel, outputs, inputs


def prepare_together(
    requests: Sequence[tuple[Callable[..., Any], Sequence[np.ndarray]]],
    *,
    cache: Store,
    name: str = "case",
    **options: Any,
) -> list[tuple[prepared_kernel.CpuKernel, Sequence[Any], Sequence[Any]]]:
    """`prepare` for each request, a function and its arrays, with few compiler calls."""
    planned = []
    for number, (build, arrays) in enumerate(requests):
        inputs = [dsl.placeholder(array.shape, str(array.dtype)) for array in arrays]
        made = build(*inputs)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        one = prepared_kernel.plan(
            outputs, inputs, name=f"{name}_{number}", options=Options(**options), cache=cache
        )
        planned.append((one, outputs, inputs))
    prepared_kernel.build_together([one for one, _, _ in planned])
    return [(one.compile(), outputs, inputs) for one, outputs, inputs in planned]


def behind(array: np.ndarray, bytes_: int) -> np.ndarray:
    """An empty array like this one at this byte offset from a multiple of 128."""
    raw = np.empty(array.nbytes + bytes_ + 128, np.uint8)
    begin = -raw.ctypes.data % 128 + bytes_
    return raw[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)


def assert_same(found: np.ndarray, wanted: np.ndarray, *, signs: bool = True) -> None:
    """Raises unless both are equal, with NaN in the same places and zeros of the same sign."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if found.dtype.kind not in "iub":
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
        if signs:
            zero = wanted == 0
            np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))
    np.testing.assert_array_equal(found, wanted)
