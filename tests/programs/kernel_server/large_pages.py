"""Calls a net until its tensors are in large pages."""

import sys
import time
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore.calls import repeated_calls
from tests.programs.presets.child import RESULT, answer, kernels

# results in MindSpore's buffers; NumPy requests large pages for its own arrays
repeated_calls.PROBE_CALLS = (0,)
ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()


ROWS = int(sys.argv[2])
"""Each 512 rows are four large pages; the program waits for three."""


class Swish(nn.Cell):
    def construct(self, x):
        return x * ops.sigmoid(x)


def large():
    with Path("/proc/self/smaps_rollup").open() as lines:
        return next(
            int(line.split()[1]) >> 11 for line in lines if line.startswith("AnonHugePages")
        )


net, x = Swish(), Tensor(np.linspace(-4, 4, ROWS * 4096, dtype=np.float32).reshape(ROWS, 4096))
y = net(x)
before, end = large(), time.monotonic() + 60
while large() < before + ROWS * 3 // 512 and time.monotonic() < end:
    y = net(x)
RESULT["large"] = large() - before
exact = x.asnumpy() / (1 + np.exp(-x.asnumpy().astype(np.float64)))
RESULT["wrong"] = float(np.abs(y.asnumpy() - exact).max())
RESULT["kernels"] = len(kernels())

answer()
