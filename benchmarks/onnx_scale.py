"""Time and memory of fusing models of 1,250 to 10,000 operators: ``python -m benchmarks.onnx_scale [--varied]``.

Blocks of a norm, a product with its bias, a gate and a sum, one behind the other, each size in a process of its own.
Asked: 10,000 in less than 60 s and 2 GiB, and no operator more than twice as dear as in the smallest. With ``--varied`` no two
blocks have the same sizes, so that nothing is shared: the worst case.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import measuring
from ms_fusion.onnx_fusion.auto_fuse import auto_fuse
from tests.ms_fusion.onnx_fusion.models import Builder

SIZES = (1250, 2500, 5000, 10_000)
BLOCK = 6
WIDTHS = 47
"""From 47 to 93: 2,209 pairs."""


def deep(path: Path, operators: int) -> Path:
    """A model of so many operators."""
    b = Builder({"x": ("n", 16)})
    x, weight, bias, scale, shift = "x", b.weight(16, 16), b.weight(16), b.weight(16), b.weight(16)
    for _ in range(operators // BLOCK):
        inner = b.add("LayerNormalization", x, scale, shift, axis=-1)
        inner = b.add("Add", b.add("MatMul", inner, weight), bias)
        x = b.add("Add", x, b.add("Mul", inner, b.add("Sigmoid", inner)))
    return b.save(path, x)


def varied(path: Path, operators: int) -> Path:
    """The same without the sum, each block from one width to another; no two widths meet twice in that order."""
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


def one(operators: int, write: Callable[[Path, int], Path]) -> str:
    """Seconds and the most MiB held, children included."""
    with tempfile.TemporaryDirectory() as directory:
        source = write(Path(directory) / "model.onnx", operators)
        begin = time.perf_counter()
        auto_fuse(source, Path(directory) / "fused.onnx")
        took = time.perf_counter() - begin
    held = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))  # fmt: skip
    return f"{took:.3f} {held / 1024:.0f}"


def main() -> None:
    """A line for each size, and ``build/bench/onnx_scale.json``."""
    rows = []
    for size in SIZES:
        done = subprocess.run([sys.executable, "-m", "benchmarks.onnx_scale", *sys.argv[1:], str(size)], capture_output=True, text=True, check=True)  # fmt: skip
        seconds, held = map(float, done.stdout.split())
        rows.append({"operators": size, "seconds": seconds, "MiB": held})
        print(f"{size:6d} operators {seconds:6.1f} s, {seconds / size * 1e3:5.2f} ms each, {held:5.0f} MiB")  # fmt: skip
    measuring.write("onnx_scale", {"machine": measuring.described(), "rows": rows})


if __name__ == "__main__":
    if sys.argv[-1].isdecimal():
        print(one(int(sys.argv[-1]), varied if "--varied" in sys.argv else deep))
    else:
        main()
