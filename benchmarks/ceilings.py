"""Measures the memory ceiling of an operator: reads and writes its arrays, computes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tbe_impl import environment
from tbe_impl.arguments import Argument
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, placeholder, static_shape
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.buffers import aligned_empty
from tbe_impl.tuning import caller
from tbe_impl.tuning_store import UNREACHABLE_THRESHOLD

Run = Callable[[], object]
WAYS = {"ceiling": {"stream_bytes": 0}, "ceiling in cache": {"stream_bytes": UNREACHABLE_THRESHOLD}}
"""Non-temporal and ordinary stores; the faster of the two is the ceiling of a line."""


def moving(read: int, written: int, shape: tuple[int, ...]) -> dict[str, Run]:
    """Reads `read` float32 arrays, writes `written`, on all threads; one call per way."""
    inputs = [placeholder(shape, "float32", f"x{number}") for number in range(read)]
    whole: Tensor = inputs[0]
    for one in inputs[1:]:
        whole = OPERATIONS["vadd"](whole, one)
    # distinct values prevent merging the outputs into one array; without outputs, rows are summed
    outputs = [OPERATIONS["vmaxs"](whole, -3e38 + number * 1e37) for number in range(written)]
    outputs = outputs or [OPERATIONS["reduce_sum"](whole, -1, False)]

    def describe_tensors(tensors: list[Tensor]) -> tuple[Argument, ...]:
        return tuple(Argument(item, static_shape(item) or (), item.name) for item in tensors)

    kernel = Kernel(
        f"move_{read}_{written}", "cpu", describe_tensors(inputs), describe_tensors(outputs)
    )
    given = [_numbers(shape) for _ in inputs]
    made = [_numbers(static_shape(one) or ()) for one in outputs]
    threads = environment.threads()
    return {
        way: caller(
            replace(kernel, options=replace(kernel.options, **change)).compiled,
            given,
            made,
            threads,
        )  # type: ignore[arg-type]
        for way, change in WAYS.items()
    }


def _numbers(shape: tuple[int, ...]) -> np.ndarray:
    """Nonzero values: some processors move zeros in three quarters of the time."""
    found = aligned_empty(shape, np.dtype(np.float32))
    np.random.default_rng(20250101).standard_normal(shape, np.float32, found)
    return found
