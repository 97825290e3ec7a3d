"""A user's script: a net, an optimizer, and explainable objects; explains the named one."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(16, 16)
        self.bias = ms.Parameter(Tensor(np.full(16, 5.0), ms.float32), name="shift")

    def construct(self, x):
        return ops.add(ops.mul(self.dense(x), 2.0), self.bias)


net = Net()
net.bias.set_data(Tensor(np.full(16, 7.0), ms.float32))
optimizer = nn.Adam(net.trainable_params(), 1e-3)


def forward(x, y):
    return ops.mean(ops.square(net(x) - y))


gradients = ms.value_and_grad(forward, None, optimizer.parameters)


def step(x, y):
    loss, found = gradients(x, y)
    optimizer(found)
    return loss


@ms.jit
def decorated(x, y):
    loss, found = gradients(x, y)
    optimizer(found)
    return loss


halve = ops.MultitypeFuncGraph("halve")


@halve.register("Tensor", "Tensor")
def halve_one(share, x):
    return ops.add(ops.mul(x, share), 1.0)


def overloaded(x, y):
    return ops.HyperMap()(ops.partial(halve, y), (x, net(x)))


def closure():
    inner, scale = Net(), 3.0

    def scaled(x, y):
        return ops.add(ops.mul(inner(x), scale), y)

    return scaled


def table():
    return {
        "Cell": net,
        "step": step,
        "decorated": decorated,
        "closure": closure(),
        "overloaded": overloaded,
    }


def main():
    import sys

    import ms_fusion as mf

    x = Tensor(np.random.randn(8, 16), ms.float32)
    before = net.dense.weight.asnumpy().copy()
    name = sys.argv[1]
    ledger = mf.explain(
        table()[name], *((x,) if name == "Cell" else (x, x)), preset="basic", measure=False
    )
    assert np.array_equal(net.dense.weight.asnumpy(), before)
    print(
        [entry.inputs for entry in ledger.kernels[0].accuracy],
        [n for n in ledger.notes if "this process" in n],
    )


if __name__ == "__main__":
    main()
