"""Runs a small net with fusion; prints the generator of its kernels."""

import mindspore as ms
import numpy as np
from mindspore import nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets


class Net(nn.Cell):
    def construct(self, x):
        return ops.sigmoid(x * 2.0) * x + 1.0


ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()
found = Net()(ms.Tensor(np.ones((64, 64)), ms.float32)).asnumpy()
assert np.allclose(found, 1 / (1 + np.exp(-2.0)) + 1, atol=1e-5)
print(f"fused by {presets.in_force().generator}")
