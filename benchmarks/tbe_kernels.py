"""Kernels beside the memory ceiling and peers: ``python -m benchmarks.tbe_kernels``.

16M elements in rows of 1024 on all threads (two in the published figures), and 64K elements, which
stay in the cache. The ceiling of a line is the fastest way to move its bytes: the best of memcpy, a
vector copy and one with non-temporal stores; for two inputs the best of two additions. All calls
are interleaved in one process. `QUICK=1` is the short form.

Lines: *kernel* is the compiled function alone, as a framework calls it; *from Python* calls it on
NumPy arrays.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.measuring import (
    Samples,
    describe_machine,
    in_turns,
    is_quick,
    largest_error,
    ratio,
    write,
)
from benchmarks.operators import OPERATORS
from tbe_impl import environment
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.buffers import aligned_empty
from tbe_impl.tuning import caller
from tbe_impl.tuning_store import UNREACHABLE_THRESHOLD

LARGE, SMALL = (16384, 1024), (64, 1024)
LINES = (
    ("swish", "float32"),
    ("chain", "float32"),
    ("softmax", "float32"),
    ("layer_norm", "float32"),
    ("swish", "float16"),
)
TARGETS = {
    ("swish", "float32"): 0.90,
    ("chain", "float32"): 0.90,
    ("softmax", "float32"): 0.75,
    ("layer_norm", "float32"): 0.75,
    ("swish", "float16"): 0.60,
}
"""Required shares of the ceiling at 16M elements."""

TOLERANCE = {"float32": 2e-6, "float16": 2e-3}
"""For |found − expected| ÷ (1 + |expected|), expected in float64."""

CHECKED_ROWS = 64
AVX2 = "x86-64-v3"
Run = Callable[[], object]


def main() -> int:
    """Runs all lines and writes the record; returns 1 when a result is wrong."""
    missing = peers.prepare_torch(environment.threads())
    if missing:
        print(f"torch takes no part: {missing}")
    record: dict[str, Any] = {**describe_machine(), "torch": peers.torch_version(), "lines": []}
    print(
        f"{record['processor']}, {record['threads']} threads, torch {record['torch'] or 'absent'}, "
        f"load {record['load_before']}"
    )
    if record["load_before"][0] > record["threads"] / 4:
        print(
            "Other processes use the cores: medians say little now; shares of least times say more."
        )
    for shape, rounds in ((LARGE, 7 if is_quick() else 31), (SMALL, 15 if is_quick() else 61)):
        for name, dtype in LINES:
            record["lines"] += _line(name, dtype, shape, rounds, with_torch=not missing)
    record["start"] = _start()
    write("tbe_kernels", record)
    wrong = [line for line in record["lines"] if line.get("right") is False]
    for line in wrong:
        print(f"WRONG: {line['operator']} {line['dtype']} by {line['who']}: {line['error']:.2g}")
    return 1 if wrong else 0


def _line(
    name: str, dtype: str, shape: tuple[int, ...], rounds: int, *, with_torch: bool
) -> list[dict[str, Any]]:
    """All competitors of one operator at one size."""
    operator = OPERATORS[name]
    inputs = [_aligned_copy(item) for item in operator.inputs(shape, dtype)]
    rows = slice(0, None, max(1, shape[0] // CHECKED_ROWS))
    wide = [
        item.astype(np.float64)[rows] if item.shape == shape else item.astype(np.float64)
        for item in inputs
    ]
    expected = operator.formula(*wide)[0]
    runs: dict[str, Run] = {}
    before: dict[str, Run] = {}
    outputs: dict[str, np.ndarray] = {}

    def ours(who: str, kernel: Kernel, *, python: bool = False) -> None:
        outputs[who] = aligned_empty(shape, inputs[0].dtype)
        compiled, result, threads = kernel.compiled, [outputs[who]], environment.threads()
        if python:
            runs[who] = lambda: compiled.run(inputs, {}, threads, result)
        else:
            runs[who] = caller(compiled, inputs, result, threads)

    kernel = operator.kernel(shape, dtype)
    ours("kernel", kernel)
    ours("from Python", kernel, python=True)
    if "avx512f" in describe_machine()["features"]:
        ours("kernel, AVX2", replace(kernel, options=replace(kernel.options, march=AVX2)))
    outputs["NumPy"] = np.empty(shape, inputs[0].dtype)
    runs["NumPy"] = peers.numpy_peer(name, inputs, outputs["NumPy"])
    if with_torch:
        for threads in {environment.threads(), 1} if shape == SMALL else {environment.threads()}:
            for who, (run, ready, out) in peers.torch_peers(name, inputs, threads).items():
                runs[who], before[who], outputs[who] = run, ready, out
    ceilings = _ceilings(len([item for item in inputs if item.shape == shape]), shape, dtype)
    small = shape == SMALL
    # in the cache, spinning threads of one competitor would disturb the next
    samples = in_turns(
        {**runs, **ceilings},
        rounds=rounds,
        before=before,
        block_s=2e-3 if small else 0.0,
        pause_s=3e-3 if small else 0.0,
    )
    best = min(ceilings, key=lambda who: samples[who].median)
    elements = int(np.prod(shape))
    print(
        f"\n{name} {dtype} {elements:,} elements; ceiling {best} {samples[best].median * 1e6:,.1f} "
        f"µs (least {samples[best].least * 1e6:,.1f})"
    )
    found = []
    for who in (*runs, *ceilings):
        line: dict[str, Any] = {
            "operator": name,
            "dtype": dtype,
            "elements": elements,
            "who": who,
            **samples[who].record(),
        }
        line |= _against(samples[who], samples[best], samples["kernel"])
        if who in outputs:
            line["error"] = largest_error([outputs[who][rows]], [expected])
            line["right"] = line["error"] <= TOLERANCE[dtype]
        if who == "kernel" and shape == LARGE:
            line["target"] = TARGETS[name, dtype]
        found.append(line)
        _tell(line, best)
    return found


def _against(own: Samples, ceiling: Samples, kernel: Samples) -> dict[str, float]:
    return {
        "share_of_ceiling": round(ratio(ceiling, own), 4),
        "share_of_ceiling_least": round(ceiling.least / own.least, 4),
        "times_the_kernel": round(ratio(own, kernel), 4),
        "times_the_kernel_least": round(own.least / kernel.least, 4),
    }


def _tell(line: dict[str, Any], best: str) -> None:
    right = {True: "right", False: "WRONG", None: ""}[line.get("right")]
    target = f"target {line['target']:.0%}" if "target" in line else ""
    mark = "← ceiling" if line["who"] == best else ""
    print(
        f"  {line['who']:29} {line['median_us']:12,.1f} µs  ({line['quartile_low_us']:,.1f} … "
        f"{line['quartile_high_us']:,.1f}, "
        f"least {line['least_us']:,.1f})  {line['share_of_ceiling']:5.0%} of the ceiling (least "
        f"{line['share_of_ceiling_least']:.0%})  "
        f"{line['times_the_kernel']:6.2f} × kernel  {right}{mark} {target}"
    )


def _ceilings(inputs: int, shape: tuple[int, ...], dtype: str) -> dict[str, Run]:
    """Ways to move the bytes of an operator with this number of inputs."""
    name = "copy" if inputs == 1 else "add"
    # the same bytes as float32: the copy must not convert dtypes
    width = np.dtype(dtype).itemsize
    plain = (*shape[:-1], shape[-1] * width // 4)
    kernel = OPERATORS[name].kernel(plain)
    arrays = [_aligned_copy(item) for item in OPERATORS[name].inputs(plain)]
    target = [aligned_empty(plain, np.dtype(np.float32))]
    threads = environment.threads()
    found: dict[str, Run] = {}
    ways = {
        f"vector {name}": {"stream_bytes": UNREACHABLE_THRESHOLD},
        f"non-temporal {name}": {"stream_bytes": 0},
    }
    alone = {
        f"{who}, one thread": {**way, "parallel_elements": UNREACHABLE_THRESHOLD}
        for who, way in ways.items()
    }
    for who, way in (ways | (alone if shape == SMALL else {})).items():
        changed = replace(kernel, options=replace(kernel.options, **way))  # type: ignore[arg-type]
        found[who] = caller(changed.compiled, arrays, target, threads)
    if inputs == 1:
        found["memcpy"] = _memcpy(arrays[0], target[0], 1 if shape == SMALL else threads)
    return found


def _memcpy(source: np.ndarray, target: np.ndarray, threads: int) -> Run:
    part = source.nbytes // threads
    pieces = [
        (target.ctypes.data + n * part, source.ctypes.data + n * part, part) for n in range(threads)
    ]
    if threads == 1:
        return lambda: ctypes.memmove(*pieces[0])
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(lambda piece: ctypes.memmove(*piece), pieces))


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    found = aligned_empty(array.shape, array.dtype)
    found[...] = array
    return found


START = """
import gc, sys, time
from pathlib import Path
import numpy as np
import tbe_impl
x, row, one = ({"shape": shape, "dtype": "float32"} for shape in ((64, 1024), (1024,), (64, 1)))
arguments = {"swish": (x, x), "softmax": (x, x), "layer_norm": (x, row, row, x, one, one, 1, 1)}
operators = {
    name: tbe_impl.load_operator(Path(tbe_impl.__file__).parent / "ops" / f"{name}.py")
    for name in arguments
}
inputs = {"layer_norm": [np.ones((64, 1024), "f"), np.ones(1024, "f"), np.ones(1024, "f")]}
for name in sys.argv[1:]:
    arrays = inputs.get(name) or [np.ones((64, 1024), "f")]
    gc.collect()
    begin = time.perf_counter()
    kernel = operators[name].build(*arguments[name])
    built = time.perf_counter()
    kernel.compiled
    made = time.perf_counter()
    kernel(*arrays)
    print(time.perf_counter() - begin, made - built)
"""
STARTED = ("swish", "softmax", "layer_norm")


def _start() -> dict[str, Any]:
    """Operators from files, built cold and found in the cache: from `build` to the first result.

    Lazy imports are excluded. In each process one kernel is the first and the others follow; each
    takes its turn as the first. A third figure excludes the operator's own function and the call:
    key, cache lookup, SHA-256, dlopen.
    """
    found: dict[str, list[float]] = {
        "cold": [],
        "warm_first": [],
        "warm_later": [],
        "warm_load": [],
    }
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        found["cold"] = [whole for whole, _ in _child(STARTED, place)]
        for number in range(6 if is_quick() else 18):
            at = number % len(STARTED)
            first, *later = _child((*STARTED[at:], *STARTED[:at]), place)
            found["warm_first"].append(first[0])
            found["warm_later"] += [whole for whole, _ in later]
            found["warm_load"] += [load for _, load in (first, *later)]
    told = {
        f"{key}_{what}_ms": round(function(times), 3)
        for key, times in found.items()
        for what, function in (("median", statistics.median), ("least", min), ("most", max))
    }
    print(
        f"\ncold kernel {told['cold_median_ms']:.0f} ms (most {told['cold_most_ms']:.0f}; target "
        f"400); warm, from the operator's "
        f"file to the first result, the first of a process {told['warm_first_median_ms']:.2f} ms "
        f"(least {told['warm_first_least_ms']:.2f}), "
        f"later ones {told['warm_later_median_ms']:.2f} ms (least "
        f"{told['warm_later_least_ms']:.2f}; target 2), of it key, hash and "
        f"loading {told['warm_load_median_ms']:.2f} ms"
    )
    return told


def _child(names: Sequence[str], place: str) -> list[tuple[float, float]]:
    """Milliseconds for each operator, built in sequence in a new process."""
    given = {**os.environ, environment.CACHE_DIR.name: place}
    told = subprocess.run(
        [sys.executable, "-c", START, *names],
        env=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    whole, load = zip(*(map(float, line.split()) for line in told.stdout.splitlines()), strict=True)
    return [(a * 1e3, b * 1e3) for a, b in zip(whole, load, strict=True)]


def arguments(given: Sequence[str]) -> None:
    """Rejects command-line arguments; there are none."""
    if given:
        raise SystemExit("usage: [QUICK=1] python -m benchmarks.tbe_kernels")


if __name__ == "__main__":
    arguments(sys.argv[1:])
    sys.exit(main())
