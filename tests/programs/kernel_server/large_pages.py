"""A net is called until its tensors lie in large pages."""

import time
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.presets import repeated_calls
from tests.programs.presets.child import RESULT, answer, kernels

# results in buffers of MindSpore's, not in arrays, of which NumPy asks for large pages by itself
repeated_calls.ASKED_AT = (0,)
ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()


class Swish(nn.Cell):
    def construct(self, x):
        return x * ops.sigmoid(x)


def large():
    with Path("/proc/self/smaps_rollup").open() as lines:
        return next(
            int(line.split()[1]) >> 11 for line in lines if line.startswith("AnonHugePages")
        )


net, x = Swish(), Tensor(np.linspace(-4, 4, 4 << 20, dtype=np.float32).reshape(1024, 4096))
y = net(x)
before, end = large(), time.monotonic() + 60
while large() < before + 6 and time.monotonic() < end:
    y = net(x)
RESULT["large"] = large() - before
exact = x.asnumpy() / (1 + np.exp(-x.asnumpy().astype(np.float64)))
RESULT["wrong"] = float(np.abs(y.asnumpy() - exact).max())
RESULT["kernels"] = len(kernels())

answer()
