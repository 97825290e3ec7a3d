"""Rows 10 and 21: concurrent threads and children, and memory after many calls and kernels."""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tbe_impl.errors import InputError
from tests.stress.kernels import POINTS, check_swish, swish, swish_is_right
from tests.stress.parts import (
    Row,
    Stress,
    in_child,
    kernel_cache,
    kernel_entries,
)

GROWTH_BYTES = 20 << 20
MANY = np.linspace(-5, 5, 40_000, dtype=np.float32)


def threads(stress: Stress) -> str:
    """Threads compile the same kernels in different orders and call them; then child processes."""
    count, each = 8, stress.times(100, 4)

    def compile_and_call() -> None:
        _in_threads(count, lambda number: _each_kernel(number, each))

    in_child(compile_and_call, limit_s=900)
    entries = len(kernel_entries())
    assert entries == each, f"{entries} entries for {each} kernels"
    assert kernel_cache().verify() == (), "a bad entry"
    calls = stress.times(1000, 20)
    in_child(lambda: _one_kernel_in_threads(count, calls), limit_s=300)
    kinds = ("fork", "spawn", "forkserver")
    children = stress.times(8, 2)
    for kind in kinds if stress.full else kinds[:1]:
        in_child(lambda kind=kind: _children(kind, children), limit_s=300)
    return (
        f"{count} threads × {each} kernels compiled and called, × {calls} calls of one kernel with "
        f"two threads;"
        f" {children} children by {', '.join(kinds if stress.full else kinds[:1])}: 0 errors"
    )


def _in_threads(count: int, work: Callable[[int], None]) -> None:
    errors: list[str] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except Exception as error:  # noqa: BLE001 - whatever comes is a finding
            errors.append(f"thread {number}: {type(error).__name__}: {error}")

    running = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not errors, f"{len(errors)} errors: {errors[0]}"


def _each_kernel(start: int, each: int) -> None:
    for number in np.random.default_rng(start).permutation(each):
        check_swish(int(number))


def _parallel(number: int) -> None:
    """A kernel that two threads share."""
    kernel = swish(number, MANY, parallel_elements=1)
    kernel.compiled
    assert swish_is_right(number, kernel(MANY), MANY)


def _one_kernel_in_threads(count: int, calls: int) -> None:
    kernel = swish(-2, MANY, parallel_elements=1)
    wanted = kernel(MANY)

    def call(_: int) -> None:
        for _ in range(calls):
            np.testing.assert_array_equal(kernel(MANY), wanted)

    _in_threads(count, call)


def _children(kind: str, count: int) -> None:
    """Children of a process whose threads have run kernels, with its kernels and new ones."""
    os.environ["MS_FUSION_THREADS"] = "2"
    _parallel(-3)
    context = multiprocessing.get_context(kind)
    running = [context.Process(target=_child, args=(number,)) for number in range(count)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
        assert process.exitcode is not None, f"a child by {kind} hangs"
        assert process.exitcode == 0, f"a child by {kind} ended with {process.exitcode}"
    _parallel(-3)


def _child(number: int) -> None:
    _parallel(-3)
    _parallel(-4 - number % 2)
    check_swish(-6)


def growth(stress: Stress) -> str:
    """Memory after some calls, and after many more."""
    calls = stress.times(10_000, 500)
    with_calls = in_child(lambda: _grown(_calling(), warm=calls // 10, times=calls), limit_s=600)
    cycles = stress.times(500, 10)
    numbers = itertools.count()
    with_cycles = in_child(
        lambda: _grown(lambda: check_swish(next(numbers)), warm=5, times=cycles), limit_s=900
    )
    for name, grown in (("calls", with_calls), ("cycles", with_cycles)):
        assert grown < GROWTH_BYTES, f"{grown / 2**20:.1f} MB more after the {name}"
    return (
        f"{with_calls / 2**20:.1f} MB more after {calls:,} calls, {with_cycles / 2**20:.1f} MB "
        f"after {cycles} cycles of compiling and loading"
    )


def _calling() -> Callable[[], None]:
    kernel = swish(0, MANY)
    wanted = kernel(MANY)
    wrong = POINTS[:5]

    def call() -> None:
        found = kernel(MANY)
        assert found[7] == wanted[7]
        with contextlib.suppress(InputError):  # errors must not accumulate either
            kernel(wrong)

    return call


def _grown(work: Callable[[], None], *, warm: int, times: int) -> int:
    for _ in range(warm):
        work()
    gc.collect()
    before = _resident()
    for _ in range(times):
        work()
    gc.collect()
    return _resident() - before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


ROWS = (
    Row(10, "8 threads compile and call; children by fork, spawn, forkserver", "0 errors", threads),
    Row(21, "10,000 calls, 500 cycles of compiling and loading", "< 20 MB more", growth),
)
