"""Compiles a net under `enable`, with or without dumps, and optionally another with other flags."""

import os
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
x = Tensor(np.ones((64, 64), np.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm = nn.Dense(64, 64), nn.LayerNorm((64,))

    def construct(self, x):
        y = ops.sort(self.dense(self.norm(x)))[0]
        return ops.softmax(ops.gelu(y) * 2.0, -1)


class Other(nn.Cell):
    def construct(self, x):
        return ops.exp(x) + 1.0


RESULT["flags"] = mf.enable().flags
net = Net()
net(x)
if "other" in sys.argv:
    mf.patch(Other(), "off")(x)
if "explain" in sys.argv:
    isolate = "MS_DEV_SAVE_GRAPHS" not in os.environ
    ledger = mf.explain(net, x, measure=False, accuracy=False, isolate=isolate)
    RESULT["kernels"] = sorted(" ".join(one.operators) for one in ledger.kernels)
    RESULT["reasons"] = sorted(one.reason for one in ledger.unfused)

answer()
