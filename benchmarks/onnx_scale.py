"""Cost of fusing large models: ``python -m benchmarks.onnx_scale [--varied | --random]``.

A chain of blocks, each a norm, a product with its bias, a gate and a sum; each size runs in its own
process. Target: 10,000 operators in less than 60 s and 2 GiB, and a cost per operator at most twice
that of the smallest model. Nothing is shared, the worst case, with ``--varied``, where no two
blocks have the same sizes, and with ``--random``: a chain of random operators in groups of about
75. Memory is the sum over all processes; seconds are wall-clock and processor time.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import measuring
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from tests.ms_fusion.onnx.fuse.models import Builder

SIZES = (1250, 2500, 5000, 10_000)
BLOCK = 6
WIDTHS = 47
"""From 47 to 93: 2,209 pairs."""
CHAIN_WIDTH = 64
WATCHED_S = 0.1


def deep(path: Path, operators: int) -> Path:
    """A model with this number of operators."""
    b = Builder({"x": ("n", 16)})
    x, weight, bias, scale, shift = "x", b.weight(16, 16), b.weight(16), b.weight(16), b.weight(16)
    for _ in range(operators // BLOCK):
        inner = b.add("LayerNormalization", x, scale, shift, axis=-1)
        inner = b.add("Add", b.add("MatMul", inner, weight), bias)
        x = b.add("Add", x, b.add("Mul", inner, b.add("Sigmoid", inner)))
    return b.save(path, x)


def write_varied_model(path: Path, operators: int) -> Path:
    """The model without the sum; each block has another width, no pair of widths repeats."""
    b = Builder({"x": ("n", WIDTHS)})
    x, before = "x", 0
    for number in range(operators // (BLOCK - 1)):
        # steps of 0, 1, 2 … around a circle of a prime number of widths visit every pair once
        after = (before + number // WIDTHS) % WIDTHS
        rows, columns = WIDTHS + before, WIDTHS + after
        inner = b.add("LayerNormalization", x, b.weight(rows), b.weight(rows), axis=-1)
        inner = b.add("Add", b.add("MatMul", inner, b.weight(rows, columns)), b.weight(columns))
        x, before = b.add("Mul", inner, b.add("Sigmoid", inner)), after
    return b.save(path, x)


def chain(path: Path, operators: int) -> Path:
    """A chain of random operators: every twentieth may be a product, every seventh a softmax."""
    b, drawn = Builder({"x": ("n", CHAIN_WIDTH)}), random.Random(7)
    x = "x"
    for number in range(operators):
        ops = [
            "Add",
            "Mul",
            "Relu",
            "Sigmoid",
            "Tanh",
            "Sub",
            "Add" if number % 20 else "MatMul",
            "Mul" if number % 7 else "Softmax",
        ]
        op = drawn.choice(ops)
        sizes = {
            "MatMul": (CHAIN_WIDTH, CHAIN_WIDTH),
            "Add": (CHAIN_WIDTH,),
            "Mul": (CHAIN_WIDTH,),
            "Sub": (CHAIN_WIDTH,),
        }.get(op)
        x = b.add(op, x, b.weight(*sizes)) if sizes else b.add(op, x)
    return b.save(path, x)


SHAPES: Mapping[str, Callable[[Path, int], Path]] = {
    "--alike": deep,
    "--varied": write_varied_model,
    "--random": chain,
}


def one(operators: int, write: Callable[[Path, int], Path]) -> None:
    """Fuses a model."""
    with tempfile.TemporaryDirectory() as directory:
        source = write(Path(directory) / "model.onnx", operators)
        auto_fuse(source, Path(directory) / "fused.onnx")


def run_and_watch(command: list[str]) -> tuple[float, float, float]:
    """Wall-clock seconds, processor seconds, and peak MiB of a command and its descendants."""
    before, begin = _processor_s(), time.perf_counter()
    held = 0
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            held = max(held, _held_bytes(process.pid))
            time.sleep(WATCHED_S)
    if process.returncode:
        raise SystemExit(process.returncode)
    return time.perf_counter() - begin, _processor_s() - before, held / 2**20


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _held_bytes(root: int) -> int:
    """Memory of a process and its descendants; shared pages count for each."""
    parents, pages = {}, {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                # the process name, in parentheses, may hold spaces
                state = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # the process has ended
            parents[int(place.name)], pages[int(place.name)] = int(state[1]), int(state[21])
    below = {root}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(pages.get(one, 0) for one in below) * os.sysconf("SC_PAGE_SIZE")


def main(shape: str) -> None:
    """Prints a line for each size; writes ``build/bench/onnx_scale.json``."""
    rows = []
    for size in SIZES:
        # each has an empty kernel cache
        with tempfile.TemporaryDirectory() as cache:
            os.environ["MS_FUSION_CACHE_DIR"] = cache
            seconds, processor, held = run_and_watch(
                [sys.executable, "-m", "benchmarks.onnx_scale", shape, str(size)]
            )
        rows.append(
            {"operators": size, "seconds": seconds, "processor_seconds": processor, "MiB": held}
        )
        print(
            f"{size:6d} operators {seconds:6.1f} s, of processors {processor:6.1f} s, "
            f"{processor / size * 1e3:5.2f} ms each, {held:5.0f} MiB",
            flush=True,
        )
    measuring.write(
        "onnx_scale", {"machine": measuring.describe_machine(), "shape": shape, "rows": rows}
    )


if __name__ == "__main__":
    chosen = next((name for name in SHAPES if name in sys.argv), "--alike")
    if sys.argv[-1].isdecimal():
        one(int(sys.argv[-1]), SHAPES[chosen])
    else:
        main(chosen)
