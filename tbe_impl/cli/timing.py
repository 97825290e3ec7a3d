"""Times interleaved calls of a kernel, of its NumPy definition, and of a copy of equal size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tbe_impl import environment
from tbe_impl.cli.commands import Request, as_tuple, build
from tbe_impl.cpu.prepared_kernel import CpuKernel, prepare
from tbe_impl.dsl.tensor import Operation, compute, placeholder, static_shape
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
            (``copy``). The copy measures the limit of the memory bandwidth.
    """

    operator: str
    file: str
    kernel: str
    soc: str
    threads: int
    bytes_moved: int
    timings: tuple[Timing, ...]


def bench(request: Request, *, loop: int = 1000) -> BenchResult:
    """Times a compiled kernel after a first call; the outputs are preallocated.

    Args:
        request: the operator and its build arguments.
        loop: number of calls of the kernel and of the copy. The NumPy definition is also called
            `loop` times, but for at most about `NUMPY_SECONDS` in total.

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
    calls = (
        _TimedCall("cpu", _make_kernel_call(kernel, arrays, results, threads)),
        _TimedCall("copy", _make_copy_call(max(moved // 8, 1), threads)),
        _TimedCall(
            "numpy", lambda: kernel(*arrays, backend="numpy"), warm_up=0, seconds=NUMPY_SECONDS
        ),
    )
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
    last = compiled.sequence.steps[-1].kernel
    into = targets if distinct and not isinstance(last, Operation) else None
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


@dataclass(frozen=True)
class _TimedCall:
    """A function to time; its calls end when they have taken more than `seconds` in total."""

    what: str
    call: Callable[[], Any]
    warm_up: int = WARM_UP
    seconds: float = math.inf


def _time_interleaved(calls: Sequence[_TimedCall], loop: int) -> dict[str, list[float]]:
    """Runs the calls alternately; returns a dict from the name of a call to its times in µs."""
    times: dict[str, list[float]] = {one.what: [] for one in calls}
    spent = dict.fromkeys(times, 0.0)
    for one in calls:
        one.call()
    for number in range(WARM_UP):
        for one in calls:
            if number < one.warm_up:
                one.call()
    for _ in range(loop):
        for one in calls:
            if spent[one.what] > one.seconds:
                continue
            start = time.perf_counter()
            one.call()
            took = time.perf_counter() - start
            times[one.what].append(took * 1e6)
            spent[one.what] += took
    return times


def _timing(what: str, times: Sequence[float], moved: int, ceiling_us: float) -> Timing:
    median = float(np.median(times))
    return Timing(
        what, len(times), median, float(min(times)), moved / median / 1e3, ceiling_us / median
    )
