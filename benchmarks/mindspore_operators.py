"""The operators of `custom_ops` inside MindSpore: ``python -m benchmarks.mindspore_operators``.

Graph mode, 16M float32 elements in rows of 1024, forward, and forward with gradient. Each line has our kernel (``native``), the
same from MindSpore's basic operators, unfused (``composite``), and MindSpore's own operator where it has one (``built in``), in
turns in one run. That our kernel ran is seen from the count of its calls. `QUICK=1` is the short form, with 2M elements.

Targets: native at least 3 times as fast as the composite, and never slower than the built-in operator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import custom_ops
from benchmarks.measuring import described, in_turns, is_quick, ratio, write
from custom_ops import dispatch

COLUMNS = 1024
TIMES_THE_COMPOSITE = 3.0
SLOWER_THAN_BUILT_IN = 1.0 / 1.15
"""Differences below 15 % are ties."""


class Step(nn.Cell):
    """The gradient of the sum of an operator's results, weighted."""

    def __init__(self, cell: nn.Cell):
        super().__init__()
        self.cell = cell
        self.slope = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, weight: Any, *inputs: Any) -> Any:
        return self.slope(self.cell)(*inputs, weight)


def cases() -> dict[str, tuple[Callable[[str], Any], Callable[[], Any] | None, int]]:
    """Name → our Cell by route, MindSpore's own Cell, number of inputs."""
    return {
        "AddReLU": (lambda route: custom_ops.AddReLU(route=route), None, 2),
        "MulSigmoid": (lambda route: custom_ops.MulSigmoid(route=route), None, 2),
        "Swish": (lambda route: custom_ops.Swish(route=route), nn.SiLU, 1),
        "GELU": (lambda route: custom_ops.GELU(False, route=route), lambda: nn.GELU(False), 1),
        "GELU tanh": (lambda route: custom_ops.GELU(True, route=route), lambda: nn.GELU(True), 1),
        "Mish": (lambda route: custom_ops.Mish(route=route), nn.Mish, 1),
        "SwiGLU": (lambda route: custom_ops.SwiGLU(route=route), None, 2),
        "Softmax": (lambda route: custom_ops.Softmax(-1, route=route), lambda: nn.Softmax(-1), 1),
        "LogSoftmax": (lambda route: custom_ops.LogSoftmax(-1, route=route), lambda: nn.LogSoftmax(-1), 1),
        "LayerNorm": (lambda route: custom_ops.LayerNorm((COLUMNS,), route=route), lambda: nn.LayerNorm((COLUMNS,)), 1),
        "RMSNorm": (lambda route: custom_ops.RMSNorm((COLUMNS,), route=route), None, 1),
    }  # fmt: skip


def main(wanted: Sequence[str]) -> int:
    """Runs the operators named, or all; 1 when a result is wrong."""
    ms.set_context(mode=ms.GRAPH_MODE)
    rows = 2048 if is_quick() else 16384
    record: dict[str, Any] = {**described(), "mindspore": ms.__version__, "elements": rows * COLUMNS, "lines": []}  # fmt: skip
    print(f"{record['processor']}, {record['threads']} threads, MindSpore {ms.__version__}, load {record['load_before']}")  # fmt: skip
    print(f"{'operator':<12} {'what':<9} {'native':>9} {'÷ composite':>12} {'÷ built in':>11}")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((rows, COLUMNS), dtype=np.float32) for _ in range(3)]
    right = True
    for name, (made, built_in, count) in cases().items():
        if wanted and name not in wanted:
            continue
        inputs = [Tensor(array) for array in arrays[:count]]
        cells = {route: made(route) for route in ("native", "composite")}
        if built_in is not None:
            cells["built in"] = built_in()
        for what in ("forward", "gradient"):
            line = _line(name, what, cells, inputs, Tensor(arrays[2]))
            record["lines"].append(line)
            right &= line["right"]
    write("mindspore_operators", record)
    return 0 if right else 1


def _line(name: str, what: str, cells: dict[str, Any], inputs: list[Any], weight: Any) -> dict[str, Any]:  # fmt: skip
    runs: dict[str, Callable[[], Any]] = {}
    for route, cell in cells.items():
        whole = cell if what == "forward" else Step(cell)
        given = inputs if what == "forward" else [weight, *inputs]
        runs[route] = _call(whole, given)
    before = dispatch.calls()
    first = {"native": _flat(runs["native"]())}
    ran = dispatch.calls() - before
    first |= {route: _flat(run()) for route, run in runs.items() if route != "native"}
    off = max(float(np.abs(one - first["native"]).max()) for one in first.values())
    found = in_turns(runs, rounds=5 if is_quick() else 15, pause_s=0.0, slow_s=10.0)
    native = found["native"]
    line: dict[str, Any] = {
        "operator": name, "what": what, "right": off <= 1e-2 and ran > 0, "differs": off, "calls": ran,
        **{route: samples.record() for route, samples in found.items()},
    }  # fmt: skip
    shown = f"{name:<12} {what:<9} {native.median * 1e3:>6.1f} ms"
    for route, target in (("composite", TIMES_THE_COMPOSITE), ("built in", SLOWER_THAN_BUILT_IN)):
        if route not in found:
            shown += f" {'':>11}"
            continue
        times = ratio(found[route], native)
        line[f"times_the_{route.replace(' ', '_')}"] = round(times, 2)
        shown += f" {times:>8.2f} × {'' if times >= target else '(short)'}"
    print(shown + ("" if line["right"] else "  WRONG"), flush=True)
    return line


def _call(cell: Any, inputs: list[Any]) -> Callable[[], Any]:
    return lambda: cell(*inputs)


def _flat(made: Any) -> np.ndarray:
    """The first result as an array."""
    while isinstance(made, tuple):
        made = made[0]
    return np.asarray(made.asnumpy())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
