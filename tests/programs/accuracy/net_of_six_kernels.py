"""A small net that MindSpore's own fusion compiles to six kernels."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(Tensor(np.ones((16, 32), np.float32)), name="total")

    def construct(self, x, y):
        e = ops.exp(x * 0.5) - 1.0
        r = ops.relu(y + 1.0)
        s = ops.softmax(y * 3.0, -1)
        t = ops.transpose(x, (1, 0))
        ops.assign_add(self.total, x)
        return e, r, s, t, ops.reshape(t, (-1,))


ms.set_context(mode=ms.GRAPH_MODE)
random = np.random.default_rng(0)
Net()(*(Tensor(random.normal(0, 8, (16, 32)).astype(np.float32)) for _ in range(2)))
