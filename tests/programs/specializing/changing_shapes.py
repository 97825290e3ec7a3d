"""Calls a net with dynamic shapes through `specialize`, in the named modes."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore.state import mindspore_state
from tests.programs.presets.child import RESULT, answer, bodies


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm, self.drop = nn.Dense(16, 16), nn.LayerNorm((16,)), nn.Dropout(p=0.5)

    def construct(self, x):
        return self.norm(x + self.drop(ops.gelu(self.dense(x)))), ops.sum(x, -1)


def numbers(result):
    return [item.asnumpy().astype(np.float64) for item in result]


def worst(net, run, sizes):
    found = 0.0
    for size in sizes:
        x = Tensor(random.standard_normal((size, 16)).astype(np.float32))
        with mf.fusion("off"):
            expected = numbers(net(x))
        for ours, wanted in zip(numbers(run(x)), expected, strict=True):
            assert ours.shape == wanted.shape
            found = max(found, float(np.abs(ours - wanted).max()))
    return found


random = np.random.default_rng(0)
mf.enable()
plain = Net().set_train(False)
for mode in map(int, sys.argv[2:]):
    ms.set_context(mode=mode)
    net = Net().set_train(False)
    for one, other in zip(net.get_parameters(), plain.get_parameters(), strict=True):
        one.set_data(other)
    net.set_inputs(Tensor(shape=[None, 16], dtype=ms.float32))
    run = mf.specialize(net, buckets=(4, 8))
    RESULT[f"error {mode}"] = worst(plain, run, (1, 3, 4, 7, 3, 9))
    RESULT[f"seen {mode}"] = [
        [item.shapes, item.padded_to, item.calls, item.compilations, item.reason]
        for item in run.seen
    ]
    RESULT[f"shown {mode}"] = repr(run)
    RESULT[f"names {mode}"] = [one.name for one in net.get_parameters()]

    few = mf.specialize(net, keep=2)
    worst(plain, few, (2, 3))
    phases = [set(item._phases) | set(item._cell.compile_cache) for item in few._compiled.values()]
    first = next(iter(few._compiled.values()))._cell
    worst(plain, few, (5, 2))
    RESULT[f"kept {mode}"] = [item.kept for item in few.seen]
    RESULT[f"freed {mode}"] = not first.compile_cache and not (
        phases[0] & mindspore_state.compiled_functions()
    )

ms.set_context(mode=ms.GRAPH_MODE)
RESULT["bodies"] = len(bodies())
net.set_train()
run(Tensor(np.ones((3, 16), np.float32)))
RESULT["training"] = run.seen[-1].reason
ledger = mf.explain(
    run, Tensor(np.ones((3, 16), np.float32)), measure=False, accuracy=False, isolate=False
)
RESULT["ledger"] = [
    ledger.title,
    len(ledger.shapes),
    len(ledger.kernels),
    str(ledger),
    ledger.to_html(),
]
RESULT["again"] = mf.Ledger.from_json(ledger.to_json()).shapes == ledger.shapes

answer()
