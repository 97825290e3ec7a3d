"""What each pass of the C generator is worth on ten kernels: ``python -m benchmarks.passes``.

A kernel is timed with all passes and without one of them, interleaved. A ratio above 1 is what the
kernel loses without the pass. ``=`` means that the pass does not change the kernel's C.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from benchmarks.measuring import describe_machine, in_turns, is_quick, ratio, write
from benchmarks.operators import OPERATORS, Measured
from tbe_impl import environment
from tbe_impl.codegen.pipeline import PASSES
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.kernel import Kernel
from tbe_impl.tuning import caller, result_arrays, sample_arrays

KERNELS: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("swish", (4096, 1024), "float32"),
    ("swish", (4096, 1024), "float16"),
    ("gelu", (196, 768), "float32"),
    ("softmax", (4096, 1024), "float32"),
    ("softmax", (8192, 1000), "float32"),
    ("layer_norm", (4096, 1024), "float32"),
    ("layer_norm_grad", (1024, 512), "float32"),
    ("chain", (4096, 1024), "float32"),
    ("reduce_sum_rows", (4096, 1024), "float32"),
    ("transpose", (1024, 1024), "float32"),
)
TRANSPOSE = Measured(
    "transpose",
    lambda x: [OPERATIONS["transpose"](OPERATIONS["vadds"](x, 1.0), (1, 0))],
    lambda x: [x.T + 1],
)
OPTIONAL = tuple(item.name for item in PASSES if item.is_asked is not None)


def main() -> int:
    """Measures, prints a table, writes the record."""
    record: dict[str, Any] = {**describe_machine(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        os.environ[environment.CACHE_DIR.name] = place
        for item in KERNELS:
            line = _line(*item)
            record["lines"].append(line)
            print(f"{len(record['lines']):>3} {line['kernel']}", flush=True)
    print(f"{'pass':28}{''.join(f'{number + 1:>6}' for number in range(len(KERNELS)))}")
    for name in OPTIONAL:
        ratios = (line["ratios"].get(name) for line in record["lines"])
        shown = "".join(f"{'=' if one is None else f'{one:.2f}':>6}" for one in ratios)
        print(f"{name:28}{shown}")
    write("passes", record)
    return 0


def _line(name: str, shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
    whole = _build(name, shape, dtype, "")
    without = {one: _build(name, shape, dtype, one) for one in OPTIONAL}
    changed = {one: kernel for one, kernel in without.items() if kernel.source != whole.source}
    inputs, results = sample_arrays(whole), result_arrays(whole)
    runs = {
        one: caller(kernel.compiled, inputs, results, kernel.threads or environment.threads())
        for one, kernel in {"all": whole, **changed}.items()
    }
    samples = in_turns(runs, rounds=20 if is_quick() else 150, block_s=1e-3)
    return {
        "kernel": f"{name} {'x'.join(map(str, shape))} {dtype}",
        "ratios": {one: round(ratio(samples[one], samples["all"]), 3) for one in changed},
        "all": samples["all"].record(),
    }


def _build(name: str, shape: tuple[int, ...], dtype: str, disabled: str) -> Kernel:
    """Builds a kernel without one pass."""
    os.environ[environment.DISABLE_PASS.name] = disabled
    kernel: Kernel = OPERATORS.get(name, TRANSPOSE).kernel(shape, dtype)
    assert kernel.compiled.source == kernel.source
    os.environ.pop(environment.DISABLE_PASS.name)
    return kernel


if __name__ == "__main__":
    if sys.argv[1:]:
        raise SystemExit("usage: [QUICK=1] python -m benchmarks.passes")
    sys.exit(main())
