"""Times interleaved calls of a kernel, its NumPy definition and a copy of equally many bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tbe_impl import environment
from tbe_impl.cli.commands import Request, as_tuple, build
from tbe_impl.cpu.prepared_kernel import CpuKernel, prepare
from tbe_impl.dsl.tensor import compute, placeholder, static_shape
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel
from tbe_impl.loading.operator_reference import split_target
from tbe_impl.runtime.buffers import aligned_empty

NUMPY_SECONDS = 2.0
"""Total time, in seconds, after which the NumPy definition is no longer called."""
WARM_UP = 3


@dataclass(frozen=True)
class Timing:
    """Times of one kind of call: ``cpu``, ``numpy`` or ``copy``.

    `share` is the median time of the copy divided by the median time of this kind of call.
    """

    what: str
    calls: int
    median_us: float
    least_us: float
    gigabytes_per_s: float
    share: float


@dataclass(frozen=True)
class BenchResult:
    """Result of timing a kernel.

    Attributes:
        operator, file, kernel, soc: names of the operator, its file, its kernel and the chip.
        threads: maximum number of threads.
        bytes_moved: bytes moved if every input is read once and every output is written once.
        timings: times of the kernel (``cpu``), of its definition (``numpy``) and of a copy
            (``copy``), which measures the memory bandwidth limit.
    """

    operator: str
    file: str
    kernel: str
    soc: str
    threads: int
    bytes_moved: int
    timings: tuple[Timing, ...]


def bench(request: Request, *, loop: int = 1000) -> BenchResult:
    """Times a compiled kernel that was already called once, with preallocated outputs.

    Args:
        request: what to build.
        loop: number of calls of the kernel and of the copy. The NumPy definition is called as
            often, but for at most about `NUMPY_SECONDS` in total.

    Raises:
        InputError: the operator cannot be built, or `loop` is below 1.
        MissingError: there is no C compiler.
        CompileError: code generation failed.
    """
    if loop < 1:
        raise InputError("too few calls", place="--loop", expected="1 or more", got=str(loop))
    built = build(request)
    kernel, arrays = built.kernel, [item.array for item in built.inputs]
    results = [np.asarray(one) for one in as_tuple(kernel(*arrays))]
    moved = sum(array.nbytes for array in (*arrays, *results))
    threads = kernel.threads or environment.threads()
    calls = {
        "cpu": _make_kernel_call(kernel, arrays, results, threads),
        "copy": _make_copy_call(max(moved // 8, 1), threads),
        "numpy": lambda: kernel(*arrays, backend="numpy"),
    }
    times = _time_interleaved(calls, loop)
    ceiling = float(np.median(times["copy"]))
    return BenchResult(
        built.name,
        str(split_target(request.target)[0]),
        kernel.name,
        kernel.soc,
        threads,
        moved,
        tuple(_timing(what, times[what], moved, ceiling) for what in ("cpu", "numpy", "copy")),
    )


def _make_kernel_call(
    kernel: Kernel, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], threads: int
) -> Callable[[], Any]:
    if any(static_shape(item.tensor) is None for item in (*kernel.inputs, *kernel.outputs)):
        into_these = [aligned_empty(array.shape, array.dtype) for array in results]
        return lambda: kernel(*arrays, out=into_these)
    flat = [
        np.ascontiguousarray(array).reshape(static_shape(item.tensor) or array.shape)
        for item, array in zip(kernel.inputs, arrays, strict=True)
    ]
    targets = [aligned_empty(array.shape, array.dtype) for array in results]
    compiled = kernel.compiled
    distinct = len({id(item.tensor) for item in kernel.outputs}) == len(targets)
    into = targets if distinct and not compiled.steps[-1].stage else None
    return lambda: compiled.run(flat, {}, threads, into)


def _make_copy_call(elements: int, threads: int) -> Callable[[], Any]:
    """Returns a function that copies `elements` float32 values with a kernel compiled from C."""
    source = placeholder((elements,), name="source", dtype="float32")
    target = compute((elements,), lambda i: source[i], name="target")
    kernel: CpuKernel = prepare([target], [source], name="copy")
    read = aligned_empty((elements,), np.dtype(np.float32))
    read[...] = 1
    written = [aligned_empty((elements,), np.dtype(np.float32))]
    return lambda: kernel.run([read], {}, threads, written)


def _time_interleaved(calls: dict[str, Callable[[], Any]], loop: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {what: [] for what in calls}
    spent = 0.0
    for call in calls.values():
        call()
    for _ in range(WARM_UP):
        calls["cpu"]()
        calls["copy"]()
    for _ in range(loop):
        for what, call in calls.items():
            if what == "numpy" and spent > NUMPY_SECONDS:
                continue
            start = time.perf_counter()
            call()
            took = time.perf_counter() - start
            times[what].append(took * 1e6)
            spent += took if what == "numpy" else 0.0
    return times


def _timing(what: str, times: Sequence[float], moved: int, ceiling_us: float) -> Timing:
    median = float(np.median(times))
    return Timing(
        what, len(times), median, float(min(times)), moved / median / 1e3, ceiling_us / median
    )
