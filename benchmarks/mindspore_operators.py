"""The operators of `custom_ops` inside MindSpore: ``python -m benchmarks.mindspore_operators``.

Graph mode, 16M float32 elements, most in rows of 1024, forward, and forward with gradient; the optimizers on 16 parameters of 1M
elements and on 200 small ones. Each line has our kernel (``native``), the same from MindSpore's basic operators, unfused
(``composite``), and MindSpore's own operator where it has one (``built in``), in turns in one run. That our kernel ran is seen
from the count of its calls. `QUICK=1` is the short form, with an eighth of the first axis.

Targets: native at least 3 times as fast as the composite, and never slower than the built-in operator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import custom_ops
from benchmarks.measuring import described, in_turns, is_quick, largest_error, ratio, write
from custom_ops import dispatch

ROWS, COLUMNS = 16384, 1024
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


@dataclass(frozen=True)
class Case:
    """An operator and what it is measured with.

    Attributes:
        made: our Cell by route.
        shapes: of its floating inputs.
        built_in: MindSpore's own Cell.
        labels: how many classes, where one of them for each row is a further input.
        tables: further inputs, without gradient.
    """

    made: Callable[[str], Any]
    shapes: tuple[tuple[int, ...], ...] = ((ROWS, COLUMNS),)
    built_in: Callable[[], Any] | None = None
    labels: int = 0
    tables: tuple[np.ndarray, ...] = ()


TWO = ((ROWS, COLUMNS),) * 2
IMAGES = (16, 64, 128, 128)


def cases() -> dict[str, Case]:
    """By name; 16M elements where nothing else is said."""
    own = custom_ops
    vocabulary = np.random.default_rng(1).standard_normal((16384, 256), dtype=np.float32) / 16
    found = {
        "AddReLU": Case(lambda route: own.AddReLU(route=route), TWO),
        "MulSigmoid": Case(lambda route: own.MulSigmoid(route=route), TWO),
        "Swish": Case(lambda route: own.Swish(route=route), built_in=nn.SiLU),
        "GELU": Case(lambda route: own.GELU(False, route=route), built_in=lambda: nn.GELU(False)),
        "GELU tanh": Case(lambda route: own.GELU(True, route=route), built_in=lambda: nn.GELU(True)),
        "Mish": Case(lambda route: own.Mish(route=route), built_in=nn.Mish),
        "HardSwish": Case(lambda route: own.HardSwish(route=route), built_in=nn.HSwish),
        "SwiGLU": Case(lambda route: own.SwiGLU(route=route), TWO),
        "GeGLU": Case(lambda route: own.GeGLU(route=route), TWO),
        "Softmax": Case(lambda route: own.Softmax(-1, route=route), built_in=lambda: nn.Softmax(-1)),
        "LogSoftmax": Case(lambda route: own.LogSoftmax(-1, route=route), built_in=lambda: nn.LogSoftmax(-1)),
        "ScaleMaskSoftmax": Case(lambda route: own.ScaleMaskSoftmax(0.125, route=route), tables=(_future(COLUMNS),), shapes=((ROWS // COLUMNS, COLUMNS, COLUMNS),)),
        "LayerNorm": Case(lambda route: own.LayerNorm((COLUMNS,), route=route), built_in=lambda: nn.LayerNorm((COLUMNS,))),
        "RMSNorm": Case(lambda route: own.RMSNorm((COLUMNS,), route=route)),
        "AddLayerNorm": Case(lambda route: own.AddLayerNorm((COLUMNS,), route=route), TWO),
        "AddRMSNorm": Case(lambda route: own.AddRMSNorm((COLUMNS,), route=route), TWO),
        "GroupNorm": Case(lambda route: own.GroupNorm(8, 64, route=route), (IMAGES,), lambda: nn.GroupNorm(8, 64)),
        "BatchNorm": Case(lambda route: own.BatchNorm(64, route=route).set_train(), (IMAGES,), lambda: nn.BatchNorm2d(64).set_train()),
        "BatchNorm inference": Case(lambda route: own.BatchNorm(64, route=route).set_train(False), (IMAGES,), lambda: nn.BatchNorm2d(64).set_train(False)),
        "SoftmaxCrossEntropy": Case(lambda route: own.SoftmaxCrossEntropy(route=route), built_in=nn.CrossEntropyLoss, labels=COLUMNS),
        "LinearCrossEntropy": Case(lambda route: own.LinearCrossEntropy(256, 16384, vocabulary, route=route), ((2048, 256),), labels=16384),
        "RotaryEmbedding": Case(lambda route: own.RotaryEmbedding(route=route), ((8, 16, 1024, 128),), tables=own.rotary_tables(1024, 128)),
    }  # fmt: skip
    for shape in ((8, 8, 128, 64), (1, 8, 1024, 64), (1, 4, 4096, 64)):
        name = "attention " + "x".join(map(str, shape))
        found[name] = Case(lambda route: own.ScaledDotProductAttention(route=route), (shape,) * 3)
    return found


def _future(count: int) -> np.ndarray:
    """True where a row may not look."""
    return np.triu(np.ones((count, count), np.bool_), 1)


OPTIMIZERS = ("Adam", "AdamWeightDecay", "Momentum")
PARAMETERS = {"16 x 1M": (16, 1 << 20), "200 small": (200, 1000)}


def optimizers(name: str, count: int, size: int) -> dict[str, Callable[[], Any]]:
    """A step with ours and with MindSpore's; each call returns the first parameter."""
    gradients = tuple(Tensor(np.full(size, 0.01 * (i + 1), np.float32)) for i in range(count))
    runs = {}
    for route, home in (("native", custom_ops), ("built in", nn)):
        initial = np.ones(size, np.float32)
        weights = [ms.Parameter(Tensor(initial), name=f"w{i}") for i in range(count)]
        rates = (1e-3, 0.9) if name == "Momentum" else (1e-3,)
        runs[route] = _stepping(getattr(home, name)(weights, *rates), gradients, weights[0])
    return runs


def _stepping(optimizer: Any, gradients: tuple[Any, ...], first: Any) -> Callable[[], Any]:
    def run() -> Any:
        optimizer(gradients)
        return first

    return run


def main(wanted: Sequence[str]) -> int:
    """Runs the operators whose names begin with one of those given, or all; 1 when a result is wrong."""
    ms.set_context(mode=ms.GRAPH_MODE)
    record: dict[str, Any] = {**described(), "mindspore": ms.__version__, "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, MindSpore {ms.__version__}, load {record['load_before']}")  # fmt: skip
    print(f"{'operator':<22} {'what':<9} {'native':>9} {'÷ composite':>12} {'÷ built in':>11}")
    chosen = tuple(wanted) or ("",)
    for name, case in cases().items():
        if name.startswith(chosen):
            record["lines"] += _both_ways(name, case)
    for name in OPTIMIZERS:
        for what, (count, size) in PARAMETERS.items():
            if name.startswith(chosen):
                record["lines"].append(_line(name, what, optimizers(name, count, size)))
    write("mindspore_operators", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _both_ways(name: str, case: Case) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    shapes = [(shape[0] // 8 if is_quick() and shape[0] >= 8 else shape[0], *shape[1:]) for shape in case.shapes]  # fmt: skip
    arrays: list[np.ndarray] = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    if case.labels:
        arrays.append(rng.integers(0, case.labels, shapes[0][0], dtype=np.int32))
    inputs = [Tensor(array) for array in (*arrays, *case.tables)]
    cells = {route: case.made(route) for route in ("native", "composite")}
    if case.built_in is not None:
        cells["built in"] = case.built_in()
    weight = cells["native"](*inputs)
    forward = {route: _call(cell, inputs) for route, cell in cells.items()}
    backward = {route: _call(Step(cell), [weight, *inputs]) for route, cell in cells.items()}
    return [_line(name, "forward", forward), _line(name, "gradient", backward)]


def _line(name: str, what: str, runs: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    before = dispatch.calls()
    first = {"native": _flat(runs["native"]())}
    ran = dispatch.calls() - before
    first |= {route: _flat(run()) for route, run in runs.items() if route != "native"}
    off = largest_error(list(first.values()), [first["native"].astype(np.float64)] * len(first))
    found = in_turns(runs, rounds=5 if is_quick() else 15, pause_s=0.0, slow_s=10.0)
    native = found["native"]
    line: dict[str, Any] = {
        "operator": name, "what": what, "right": off <= 1e-2 and ran > 0, "differs": off, "calls": ran,
        **{route: samples.record() for route, samples in found.items()},
    }  # fmt: skip
    shown = f"{name:<22} {what:<9} {native.median * 1e3:>6.1f} ms"
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
