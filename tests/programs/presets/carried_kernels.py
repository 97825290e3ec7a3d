"""Trains nets with `custom_ops` and ONNX kernels unfused and fused, and explains them."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import custom_ops
import ms_fusion as mf
from custom_ops.core import dispatch
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)


def given(*shape, by=1.0):
    return Tensor((np.random.default_rng(7).standard_normal(shape) * by).astype(np.float32))


class Gated(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.norm = (
            nn.Dense(12, 16),
            nn.Dense(16, 3),
            custom_ops.LayerNorm((16,), route="native"),
        )
        self.gate = mf.from_onnx(sys.argv[1].replace("work.json", "gate.onnx"))

    def construct(self, x, y):
        return ops.mean(
            ops.square(ops.tanh(self.last(self.norm(self.gate(ops.gelu(self.first(x)))))) - y)
        )


class Attending(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.LayerNorm((8,))
        self.q, self.k, self.last = nn.Dense(8, 8), nn.Dense(8, 8), nn.Dense(8, 3)

    def construct(self, x, y):
        x = ops.relu(self.bn(self.conv(x)))
        x = self.norm(x.reshape(x.shape[0], 8, -1).transpose(0, 2, 1))
        part = ops.softmax(ops.matmul(self.q(x), self.k(x).transpose(0, 2, 1)) / 8**0.5, -1)
        return ops.mean(ops.square(self.last(ops.mean(x + ops.matmul(part, x), 1)) - y))


def step_of(net, optimizer):
    for one in net.trainable_params():
        if one.ndim > 1:
            one.set_data(given(*one.shape, by=0.3))
    return nn.TrainOneStepCell(
        net, optimizer(net.trainable_params(), learning_rate=1e-2)
    ).set_train()


def gated():
    return step_of(Gated(), nn.Adam), (given(6, 12), given(6, 3))


def patched():
    net = Attending()
    RESULT["changed"] = len(custom_ops.patch(net).replaced)
    return step_of(net, custom_ops.Adam), (given(2, 3, 6, 6), given(2, 3))


RESULT["losses"] = {}
for way in ("off", "auto"):
    with mf.fusion(way):
        for make in (gated, patched):
            ms.set_seed(1)
            step, inputs = make()
            before = dispatch.count_calls()
            losses = [float(step(*inputs).asnumpy()) for _ in range(5)]
            RESULT["losses"][make.__name__ + " " + way] = [losses, dispatch.count_calls() - before]


def told(ledger):
    return {
        "carried": [[one.name, one.by, list(one.operators)] for one in ledger.carried],
        "generators": sorted({one.generator for one in ledger.kernels}),
        "texts": [ledger.to_json(), ledger.to_html(), str(ledger), ledger._repr_html_()],
    }


step, inputs = gated()
RESULT["training"] = told(mf.explain(step, *inputs, measure=False, accuracy=False, isolate=False))
RESULT["apart"] = told(mf.explain(Gated(), *inputs, measure=False, accuracy=False))

answer()
