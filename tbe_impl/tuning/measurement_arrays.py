"""Creates the input and result arrays of a timed kernel, calls the kernel, compares results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tbe_impl.cpu.prepared_kernel import CpuKernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import CompileError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.buffers import aligned_empty, usable_threads

SEED = 20250101


def sample_arrays(kernel: Kernel) -> list[np.ndarray]:
    """Returns random input arrays of the declared shapes; the seed of the generator is fixed.

    Floats are between 0.1 and 1, integers are between 0 and 7, and bool elements are 0 or 1.

    Raises:
        InputError: a size is known only at call time.
    """
    generator = np.random.default_rng(SEED)
    found = []
    for item in kernel.inputs:
        if any(size < 0 for size in item.shape):
            raise InputError(
                f"the sizes of {item.name} are known at call time only",
                place=kernel.name,
                expected="declared shapes without unknown sizes",
                got=str(item.shape),
                remedy="Build the operator with its most important shape and tune that kernel",
            )
        kind = dtype_of(item.tensor.dtype).kind
        shape = tuple(int(size.value) for size in item.tensor.shape)  # type: ignore[attr-defined]
        array = aligned_empty(shape, item.dtype)
        if kind == "float":
            array[...] = generator.random(shape, np.float32) * 0.9 + 0.1
        else:
            array[...] = generator.integers(0, 2 if kind == "bool" else 8, shape)
        found.append(array)
    return found


def result_arrays(kernel: Kernel) -> list[np.ndarray]:
    """Returns new arrays for the outputs of a kernel."""
    shapes = [
        tuple(int(size.value) for size in item.tensor.shape)  # type: ignore[attr-defined]
        for item in kernel.outputs
    ]
    return [
        aligned_empty(shape, item.dtype) for shape, item in zip(shapes, kernel.outputs, strict=True)
    ]


def caller(
    compiled: CpuKernel, inputs: Sequence[np.ndarray], results: Sequence[np.ndarray], threads: int
) -> Callable[[], None]:
    """Returns a function that calls a kernel on fixed arrays.

    If the kernel is a single program whose sizes are all known, the function calls the C code of
    this program directly.
    """
    program = compiled.only_program
    if program is None or program.program.sizes:
        return lambda: _fill(results, compiled.run(inputs, {}, threads, results))
    places = {id(tensor): array for tensor, array in zip(compiled.inputs, inputs, strict=True)}
    places |= {id(tensor): array for tensor, array in zip(compiled.outputs, results, strict=True)}
    given = [*program.program.inputs, *program.program.outputs]
    arrays = [places[id(tensor)] for tensor in given]
    buffers = (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])
    call = partial(
        program.function, buffers, (ctypes.c_int64 * 1)(), ctypes.c_int64(usable_threads(threads))
    )

    def run() -> None:
        if call():
            raise CompileError("a kernel ran out of memory", place=program.program.symbol)

    run.__dict__["arrays"] = arrays  # keeps the arrays alive, because the call holds raw pointers
    return run


def _fill(results: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
    for target, array in zip(results, found, strict=True):
        if target is not array:
            target[...] = array


def is_close(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two results differ by at most the rounding error of another summation order."""
    if dtype_of(found.dtype.name).kind != "float":
        return bool(np.array_equal(found, expected))
    step = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}.get(
        found.dtype.name, 2.0**-7
    )
    wide = np.float64
    a, b = found.astype(wide), expected.astype(wide)
    plain = np.isfinite(b)
    if not np.array_equal(np.nan_to_num(a[~plain], nan=7.0), np.nan_to_num(b[~plain], nan=7.0)):
        return False
    scale = np.abs(b[plain])
    limit = 64 * step * (scale + (scale.max() if scale.size else 0.0))
    return bool((np.abs(a[plain] - b[plain]) <= limit + np.finfo(np.float64).tiny).all())
