"""Gradients of leaky ReLU, unfused and fused, for the slopes given in JSON."""

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, bodies, ones


class Squared(nn.Cell):
    def __init__(self):
        super().__init__()
        self.leaky = nn.LeakyReLU(0.1)

    def construct(self, x):
        return (self.leaky(x * 2.0 + 1.0) ** 2).sum()


with mf.fusion("auto"):
    ms.jit(ms.grad(Squared()))(ones(64, 64))
RESULT["operators"] = sorted({one["name"] for body in bodies() for one in body["op_desc"]})


class Derived(nn.LeakyReLU):
    "Another function under the same class."

    def construct(self, x):
        return ops.leaky_relu(x, self.alpha) * x


class Net(nn.Cell):
    def __init__(self, leaky):
        super().__init__()
        self.leaky = leaky

    def construct(self, x, w):
        return self.leaky(x * 2.0) * w + x


def slopes(leaky, x, w, fused, second=False):
    net = Net(leaky)
    net.set_grad()

    def one(x, w):
        return net(x, w).astype(ms.float32).sum()

    first = ms.grad(one)

    def squared(x, w):
        return (first(x, w).astype(ms.float32) ** 2).sum()

    step = ms.jit(ms.grad(squared, 1) if second else first)
    with mf.fusion("auto" if fused else "off"):
        return step(x, w).asnumpy()


numbers = [
    0.0,
    -0.0,
    3.5,
    -3.5,
    1e-30,
    -1e-30,
    1e-36,
    -1e-36,
    1e30,
    -1e30,
    *np.random.default_rng(1).standard_normal(500),
]
x = np.array(numbers, np.float32)
w = np.random.default_rng(2).standard_normal(x.size).astype(np.float32)


def compared(name, alpha, of=nn.LeakyReLU, dtype=ms.float32, to=None, **more):
    given = (
        Tensor(np.where(np.abs(x) < 6e4, x, 1.0) if ms.float16 in (dtype, to) else x, dtype),
        Tensor(w, dtype),
    )
    cells = [of(alpha), of(alpha)]
    if to is not None:
        cells = [cell.to_float(to) for cell in cells]
    found, expected = (
        slopes(cell, *given, fused, **more)
        for cell, fused in zip(cells, (True, False), strict=True)
    )
    RESULT[name] = [
        str(found.dtype),
        str(expected.dtype),
        float(np.nanmax(np.abs(found.astype(np.float64) - expected))),
        bool((np.isnan(found) == np.isnan(expected)).all()),
    ]


for alpha in json.loads(sys.argv[2]):
    compared(f"alpha {alpha!r}", alpha)
compared("second", 0.1, second=True)
compared("float16", 0.1, dtype=ms.float16)
compared("to float16", 0.1, to=ms.float16)
compared("derived", 0.1, of=Derived)
infinite = Tensor(np.array([np.inf, -np.inf], np.float32))
RESULT["infinite"] = slopes(nn.LeakyReLU(0.1), infinite, ones(2), True).tolist()
RESULT["attributes"] = [hasattr(nn.LeakyReLU(0.1), "bprop"), "bprop" in vars(nn.LeakyReLU)]

answer()
