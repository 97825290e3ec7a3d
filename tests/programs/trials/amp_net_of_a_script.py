"""Explains a net of this script rewritten by `amp` (O1); prints title, kernels and notes."""

import mindspore as ms
import numpy as np
from mindspore import amp, nn

import ms_fusion as mf


class Gate(nn.Cell):
    def construct(self, x):
        return (x + 1.0) * x


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(16, 16)
        self.gate = Gate()

    def construct(self, x):
        return self.gate(self.dense(x)) + 1.0


ms.set_context(mode=ms.GRAPH_MODE)
net = amp.auto_mixed_precision(Net(), "O1")
x = ms.Tensor(np.ones((4, 16)), ms.float32)
ledger = mf.explain(net, x, measure=False, accuracy=False)
notes = [note for note in ledger.notes if "child process" in note]
print("explained:", ledger.title, len(ledger.kernels), *notes)
