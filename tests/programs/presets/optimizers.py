"""Trains a small net with the named optimizers, unfused and fused."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, bodies

OPTIMIZERS = {
    "Adam": lambda params: nn.Adam(params, 1e-2),
    "Adam with decay": lambda params: nn.Adam(params, 1e-2, weight_decay=0.1),
    "AdamWeightDecay": lambda params: nn.AdamWeightDecay(params, 1e-2, weight_decay=0.1),
    "AdamWeightDecay, a rate for each step": lambda params: nn.AdamWeightDecay(
        params, [0.02, 0.01, 0.01, 0.005], weight_decay=0.1
    ),
    "Momentum": lambda params: nn.Momentum(params, 0.05, 0.9, weight_decay=0.1),
    "SGD": lambda params: nn.SGD(params, 0.05, momentum=0.9, nesterov=True),
    "RMSProp": lambda params: nn.RMSProp(params, 1e-2, momentum=0.9),
    "Adagrad": lambda params: nn.Adagrad(params, learning_rate=0.05),
}
ms.set_context(mode=ms.GRAPH_MODE)


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(24, 40), nn.Dense(40, 3)

    def construct(self, x):
        return ops.mean(ops.square(self.second(ops.tanh(self.first(x))) - 1.0))


def trained(make):
    random = np.random.default_rng(0)
    net = Loss()
    for one in net.trainable_params():
        one.set_data(Tensor(random.standard_normal(one.shape).astype(np.float32) * 0.2))
    x = Tensor(random.standard_normal((32, 24)).astype(np.float32))
    step = nn.TrainOneStepCell(net, make(net.trainable_params())).set_train()
    losses = [float(step(x).asnumpy()) for _ in range(4)]
    return [losses, *(one.asnumpy().reshape(-1).tolist() for one in net.trainable_params())]


names = sys.argv[2:]
for name in names:
    RESULT[name] = [trained(OPTIMIZERS[name])]
mf.enable(generator="ms_fusion")
known = set()
for name in names:
    RESULT[name].append(trained(OPTIMIZERS[name]))
    new = {
        body["op"]: [step["name"] for step in body["op_desc"]]
        for body in bodies()
        if body["op"] not in known
    }
    known |= new.keys()
    RESULT[name].append(list(new.values()))

answer()
