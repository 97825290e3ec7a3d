"""Call overhead of an operator: ``python -m benchmarks.call_overhead``.

Tensors of 4 × 4. Graph mode: one graph with a chain of 50 operators. PyNative: 100 calls, each on
the result of the previous one. Gradient: the same in PyNative with the backward pass. All results
are read with `asnumpy` at the end; times are per operator. PyNative is measured with default
settings, and with MindSpore's threads pinned away from the caller's core (`apart`): on a shared
core a waiting call takes ten times as long. `floor` is MindSpore's `ops.Custom` with a C function
of one line. It measures MindSpore's dispatch of custom operators, which our operators bypass in
PyNative. `QUICK=1` is the short form.

Targets: at most 1.3 times a built-in operator of the same kind in graph mode, 1.8 times in
PyNative.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import custom_ops
from benchmarks.measuring import describe_machine, in_turns, is_quick, ratio, write
from tbe_impl.runtime import compiler

CHAIN, CALLS = 50, 100
MODES = ("graph", "PyNative", "gradient", "apart")
TARGETS = {"graph": 1.3}
PYNATIVE_TARGET = 1.8
FLOOR = """#include <stdint.h>
int add(int n, void **p, int *r, int64_t **s, const char **t, void *q, void *e) {
  for (int i = 0; i < 16; i++) ((float *)p[2])[i] = ((float *)p[0])[i] + ((float *)p[1])[i];
  return 0;
}
"""


class Chain(nn.Cell):
    """A chain: an operator applied to its own result."""

    def __init__(self, operator: Any):
        super().__init__()
        self.operator = operator

    def construct(self, x: Any, *others: Any) -> Any:
        for _ in range(CHAIN):
            x = self.operator(x, *others)
        return x


def main() -> int:
    """Prints and records a line for each pair and mode."""
    record: dict[str, Any] = {**describe_machine(), "mindspore": ms.__version__, "lines": []}
    print(f"{record['processor']}, MindSpore {ms.__version__}, load {record['load_before']}")
    print(f"{'mode':<9} {'ours':<10} {'a call':>10} {'built in':>18} {'×':>6}")
    with tempfile.TemporaryDirectory() as place:
        floor = _floor(Path(place))
        pairs = (
            ("AddReLU", custom_ops.AddReLU(), "ops.add", ops.add, 2),
            ("Swish", custom_ops.Swish(), "nn.SiLU", nn.SiLU(), 1),
            ("LayerNorm", custom_ops.LayerNorm((4,)), "nn.LayerNorm", nn.LayerNorm((4,)), 1),
            ("floor", floor, "ops.add", ops.add, 2),
        )
        inputs = [Tensor(np.ones((4, 4), np.float32)) for _ in range(2)]
        for mode in MODES:
            ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
            timed = {"graph": _graph, "gradient": _gradient}.get(mode, _pynative)
            runs, count = {}, CHAIN if mode == "graph" else CALLS
            chosen = pairs
            if mode == "gradient":  # ops.add's needs no kernel; the floor has none
                chosen = (("AddReLU", pairs[0][1], "ops.mul", ops.mul, 2), *pairs[1:3])
            for ours, one, theirs, other, arity in chosen:
                runs[ours] = timed(one, inputs[:arity])
                runs[theirs] = timed(other, inputs[:arity])
            if mode == "apart":
                runs["ops.add"]()
                _keep_off_this_core()
            found = in_turns(runs, rounds=20 if is_quick() else 100, block_s=0.01, slow_s=10.0)
            for ours, _, theirs, _, _ in chosen:
                record["lines"].append(_line(mode, ours, theirs, found, count))
    write("call_overhead", record)
    return 0


def _keep_off_this_core() -> None:
    """Pins MindSpore's threads away from this thread's core.

    One of them spins; on a shared core each call takes ten times as long.
    """
    cores = os.sched_getaffinity(0)
    if len(cores) > 1:
        own = min(cores)
        for thread in map(int, os.listdir("/proc/self/task")):
            os.sched_setaffinity(thread, cores - {own})
        os.sched_setaffinity(0, {own})


def _graph(operator: Any, inputs: list[Any]) -> Callable[[], Any]:
    chain = Chain(operator)
    return lambda: chain(*inputs).asnumpy()


def _pynative(operator: Any, inputs: list[Any]) -> Callable[[], Any]:
    def run() -> Any:
        made = inputs[0]
        for _ in range(CALLS):
            made = operator(made, *inputs[1:])
        return made.asnumpy()

    return run


def _gradient(operator: Any, inputs: list[Any]) -> Callable[[], Any]:
    def chain(made: Any, *others: Any) -> Any:
        for _ in range(CALLS):
            made = operator(made, *others)
        return made

    slope = ms.grad(chain)
    return lambda: slope(*inputs).asnumpy()


def _line(mode: str, ours: str, theirs: str, found: dict[str, Any], count: int) -> dict[str, Any]:
    times = ratio(found[ours], found[theirs])
    each, other = (found[name].median / count * 1e6 for name in (ours, theirs))
    far = "" if times <= TARGETS.get(mode, PYNATIVE_TARGET) else " (over)"
    print(
        f"{mode:<9} {ours:<10} {each:>7.1f} µs {theirs:>10} {other:>4.1f} µs {times:>6.2f}{far}",
        flush=True,
    )
    return {
        "mode": mode,
        "operator": ours,
        "built_in": theirs,
        "us": round(each, 2),
        "built_in_us": round(other, 2),
        "times": round(times, 2),
    }


def _floor(place: Path) -> Any:
    source, library = place / "floor.c", place / "floor.so"
    source.write_text(FLOOR, "utf-8")
    command = [
        *compiler.find_compiler().command,
        "-O2",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(source),
    ]
    subprocess.run(command, check=True)
    return ops.Custom(f"{library}:add", lambda x, y: x, lambda x, y: x, "aot")


if __name__ == "__main__":
    sys.exit(main())
