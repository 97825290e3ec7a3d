"""Ascend C kernels on this processor: ``python -m benchmarks.ascendc``.

Times an element-wise kernel over 16 Mi float32 with all checks, beside a copy of the same bytes,
and the compilation of a kernel with the headers precompiled.

Targets: the kernel below 1 s, the compilation at most 3 s.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.measuring import describe_machine, write
from tbe_impl import load_ascendc

KERNEL = Path(__file__).resolve().parent.parent / "tests" / "programs" / "ascendc" / "sum_tiles.cpp"
LENGTH, ROUNDS = 1 << 24, 7
TARGET_RUN_S, TARGET_COMPILE_S = 1.0, 3.0


def seconds(action: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    array = ((LENGTH,), "float32")

    def build(number: int) -> object:
        # a definition of its own makes each build a compilation
        return load_ascendc(KERNEL).build(
            array,
            array,
            outputs=[array],
            tiling={"length": LENGTH, "tile": 4096},
            defines=[f"BUILD_{time.time_ns()}_{number}"],
        )

    build(0)  # precompiles the headers
    compile_s = [seconds(lambda number=number: build(number)) for number in range(1, 4)]
    kernel = load_ascendc(KERNEL).build(
        array, array, outputs=[array], tiling={"length": LENGTH, "tile": 4096}
    )
    random = np.random.default_rng(0)
    x, y = (random.standard_normal(LENGTH, np.float32) for _ in range(2))
    out = np.empty_like(x)
    run_s, copy_s = [], []
    for _ in range(ROUNDS):
        run_s.append(seconds(lambda: kernel(x, y)))
        copy_s.append(seconds(lambda: np.add(x, y, out=out)))
    assert (kernel(x, y) == out).all()
    run, copy, compilation = map(statistics.median, (run_s, copy_s, compile_s))
    print(
        f"x + y over {LENGTH:,} float32, {kernel.blocks} cores, all checks: {run:.3f} s "
        f"(target {TARGET_RUN_S:g} s), {run / copy:.1f} times numpy.add\n"
        f"compilation with precompiled headers: {compilation:.2f} s (target {TARGET_COMPILE_S:g} s)"
    )
    write(
        "ascendc",
        {"machine": describe_machine(), "run_s": run_s, "copy_s": copy_s, "compile_s": compile_s},
    )


if __name__ == "__main__":
    main()
