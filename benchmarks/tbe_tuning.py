"""Gain from tuning on twelve kernels, in and out of the cache: ``python -m benchmarks.tbe_tuning``.

Each kernel is tuned with the default limits of `tbe_impl.tune` and an empty cache. Afterwards the
default and the tuned kernel are timed again, interleaved; these figures are shown. `QUICK=1` tunes
with smaller limits.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from benchmarks.measuring import describe_machine, in_turns, is_quick, ratio, write
from benchmarks.operators import OPERATORS
from tbe_impl import environment, tuning_store
from tbe_impl.codegen.options import DEFAULT_OPTIONS
from tbe_impl.kernel import Kernel
from tbe_impl.tuning import caller, result_arrays, sample_arrays, tune

KERNELS: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("swish", (64, 1024), "float32"),
    ("gelu", (196, 768), "float32"),
    ("softmax", (1024, 64), "float32"),
    ("softmax", (4096, 1024), "float32"),
    ("layer_norm", (2048, 64), "float32"),
    ("layer_norm_grad", (1024, 1024), "float32"),
    ("reduce_sum_rows", (4096, 1024), "float32"),
    ("reduce_sum_columns", (4096, 1024), "float32"),
    ("batch_norm", (8, 56, 56, 64), "float32"),
    ("adam", (1024, 1024), "float32"),
    ("chain", (4096, 1024), "float32"),
    ("swish", (4096, 1024), "float16"),
)
GAIN = 0.90
"""A time of at most this share of the default's counts as a gain."""

NOISE = 1.03
"""A larger ratio counts as slower."""


def main() -> int:
    """Tunes, measures again, writes the record; returns 1 when a tuned kernel is slower."""
    record: dict[str, Any] = {**describe_machine(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        os.environ[environment.CACHE_DIR.name] = place
        record["lines"] = [_line(*item) for item in KERNELS]
    faster = [line for line in record["lines"] if line["ratio"] <= GAIN]
    slower = [line for line in record["lines"] if min(line["ratio"], line["ratio_least"]) > NOISE]
    record |= {"faster": len(faster), "slower": len(slower)}
    print(
        f"\n{len(faster)} of {len(KERNELS)} at least 10 % faster (target a third), {len(slower)} "
        f"slower (target none)"
    )
    write("tbe_tuning", record)
    return 1 if slower else 0


def _line(name: str, shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
    plain = OPERATORS[name].kernel(shape, dtype)
    limits = {"seconds": 10.0} if is_quick() else {}
    found = tune(plain, **limits)  # type: ignore[arg-type]
    again = tuning_store.apply_tuning(OPERATORS[name].kernel(shape, dtype))
    assert found.tuning is not None
    assert again.tuning == found.tuning, "what was tuned is not found again"
    samples = _time_candidates(plain, again)
    default, own = samples["default"], samples["tuned"]
    same = again.options == DEFAULT_OPTIONS and not again.threads
    line = {
        "operator": name,
        "shape": list(shape),
        "dtype": dtype,
        "choice": found.tuning.choice.text(),
        "ratio": 1.0 if same else round(ratio(own, default), 4),
        "ratio_least": 1.0 if same else round(own.least / default.least, 4),
        "while_tuning": round(found.tuning.ratio, 4),
        "steps": found.tuning.steps,
        "seconds": round(found.tuning.seconds, 2),
        "default": default.record(),
        "tuned": own.record(),
    }
    print(
        f"{name:18} {'x'.join(map(str, shape)):12} {dtype}  {default.median * 1e6:9,.1f} → "
        f"{own.median * 1e6:9,.1f} µs  "
        f"{line['ratio']:.2f} (least {line['ratio_least']:.2f}, while tuning "
        f"{line['while_tuning']:.2f}; "
        f"{line['steps']} steps, {line['seconds']} s)  {line['choice']}",
        flush=True,
    )
    return line


def _time_candidates(plain: Kernel, found: Kernel) -> Any:
    inputs, results = sample_arrays(plain), result_arrays(plain)
    runs = {
        who: caller(kernel.compiled, inputs, results, kernel.threads or environment.threads())
        for who, kernel in (("default", plain), ("tuned", found))
    }
    return in_turns(runs, rounds=40 if is_quick() else 150, block_s=1e-3)


if __name__ == "__main__":
    if sys.argv[1:]:
        raise SystemExit("usage: [QUICK=1] python -m benchmarks.tbe_tuning")
    sys.exit(main())
