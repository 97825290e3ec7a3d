"""Document 001, both samples in order after `mf.enable()`, then the levels of the presets."""
# ruff: noqa: E402, I001, UP008, UP032

import ms_fusion as mf

mf.enable()

import numpy as np
import mindspore as ms
from mindspore.nn import Cell
import mindspore.ops as ops

ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
# save graph ir to view fusion detail.
ms.set_context(save_graphs=2)
# enable graph kernel optimization.
ms.set_context(enable_graph_kernel=True)


class MyNet(Cell):
    def construct(self, x):
        a = ops.mul(x, 2.0)
        res = ops.add(a, 1.0)
        return res


x = np.ones((4, 4)).astype(np.float32) * 0.5
net = MyNet()
result = net(ms.Tensor(x))
print("result: {}".format(result))
first = net, result.asnumpy(), ms.Tensor(x)


class MyOp(Cell):
    """my first custom OP composited by basic OPs"""

    def construct(self, x, y):
        a = ops.sub(x, y)
        return ops.mul(a, x)


class MyNet(Cell):
    def __init__(self):
        super(MyNet, self).__init__()
        self.my_op = MyOp()

    def construct(self, x, y):
        a = ops.mul(x, 2.0)
        b = ops.pow(a, 3.0)
        res = self.my_op(b, y)
        return res


x = np.ones((4, 4)).astype(np.float32) * 0.2
y = np.ones((4, 4)).astype(np.float32) * 0.3
net = MyNet()
result = net(ms.Tensor(x), ms.Tensor(y))
print("result: {}".format(result))
second = net, result.asnumpy(), ms.Tensor(x), ms.Tensor(y)

# the following code is ours
from pathlib import Path

from mindspore import nn

from tests.programs.presets.child import RESULT, answer

ms.set_context(save_graphs=0)
RESULT["results"] = [float(made.flat[0]) for _, made, *_ in (first, second)]
RESULT["graphs saved"] = sorted({one.suffix for one in Path().rglob("*.ir")})
RESULT["checked"] = [
    [one.code for one in mf.check(net, *inputs)] for net, _, *inputs in (first, second)
]


def groups(net, *inputs, **keywords):
    ledger = mf.explain(net, *inputs, measure=False, accuracy=False, isolate=False, **keywords)
    return [
        [list(one.operators), list(one.body), [value.bytes for value in one.outputs]]
        for one in (*ledger.kernels, *ledger.single_operator_kernels)
    ]


RESULT["kernels"] = [groups(net, *inputs) for net, _, *inputs in (first, second)]


class Several(Cell):
    """Groups of several kinds, among them independent ones, which level 3 might join."""

    def __init__(self):
        super().__init__()
        self.norm, self.dense = nn.LayerNorm((16,)), nn.Dense(16, 16, activation="relu")

    def construct(self, x, y):
        a, b = ops.exp(x) * 2.0 + 1.0, ops.tanh(y) * 3.0 - 1.0
        h = self.dense(self.norm(x))
        s = ops.sort(a)[0]
        return a, b, ops.reduce_sum(a * b, 1), ops.softmax(h) + s, ops.transpose(h, (1, 0)) * 2.0


x, y = (ms.Tensor(np.linspace(-k, k, 128, dtype=np.float32).reshape(8, 16)) for k in (1, 2))
RESULT["levels"] = {
    preset: groups(Several(), x, y, preset=preset) for preset in ("auto", "basic", "expert")
}
answer()
