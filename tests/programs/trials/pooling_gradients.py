"""Gradients of poolings of one, two and three axes under `enable()`, against float64."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf

ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()
random = np.random.default_rng(0)


def windows(x, size, stride):
    """The windows along the last axis, in float64."""
    return np.lib.stride_tricks.sliding_window_view(x, size, -1)[..., ::stride, :]


def blocks(x):
    """The 2×2×2 blocks of the last three axes."""
    depth, height, width = (size // 2 for size in x.shape[-3:])
    parts = x.reshape(*x.shape[:-3], depth, 2, height, 2, width, 2)
    return np.moveaxis(parts, (-5, -3, -1), (-3, -2, -1)).reshape(
        *x.shape[:-3], depth, height, width, 8
    )


# pooling | shape | its windows | what it computes of a window
POOLINGS = {
    "AvgPool1d": (nn.AvgPool1d(3, 2), (2, 3, 12), lambda x: windows(x, 3, 2), np.mean),
    "MaxPool1d": (nn.MaxPool1d(3, 2), (2, 3, 12), lambda x: windows(x, 3, 2), np.max),
    "AdaptiveAvgPool1d": (
        nn.AdaptiveAvgPool1d(4),
        (2, 3, 12),
        lambda x: windows(x, 3, 3),
        np.mean,
    ),
    "AdaptiveMaxPool1d": (
        nn.AdaptiveMaxPool1d(4),
        (2, 3, 12),
        lambda x: windows(x, 3, 3),
        np.max,
    ),
    "LPPool1d": (
        nn.LPPool1d(2, 3, 3),
        (2, 3, 12),
        lambda x: windows(x, 3, 3),
        lambda x, axis: np.sqrt(np.sum(x * x, axis)),
    ),
    "AvgPool3d": (nn.AvgPool3d(2, 2), (1, 2, 4, 4, 6), blocks, np.mean),
    "MaxPool3d": (nn.MaxPool3d(2, 2), (1, 2, 4, 4, 6), blocks, np.max),
}


class Net(nn.Cell):
    """Σ weight · tanh(pooling(2 x)) over all poolings."""

    def __init__(self, weights):
        super().__init__()
        self.poolings = nn.CellList([row[0] for row in POOLINGS.values()])
        self.weights = weights

    def construct(self, *inputs):
        total = 0.0
        for index in range(len(self.weights)):
            pooled = self.poolings[index](inputs[index] * 2.0)
            total = total + ops.sum(self.weights[index] * ops.tanh(pooled))
        return total


def float64_gradient(x, weight, cut, compute):
    """Central differences of the formula."""

    def loss(x):
        return np.sum(weight * np.tanh(compute(cut(2.0 * x), -1)))

    found, step = np.empty_like(x), 1e-6
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        found[place] = (loss(x + moved) - loss(x - moved)) / (2 * step)
    return found


inputs = [random.standard_normal(row[1]) for row in POOLINGS.values()]
weights = [
    random.standard_normal(cut(x).shape[:-1])
    for (_, _, cut, _), x in zip(POOLINGS.values(), inputs, strict=True)
]
net = Net([Tensor(one.astype(np.float32)) for one in weights])
tensors = [Tensor(one.astype(np.float32)) for one in inputs]
_, found = ms.value_and_grad(net, tuple(range(len(inputs))))(*tensors)
for (name, row), x, weight, one in zip(POOLINGS.items(), inputs, weights, found, strict=True):
    expected = float64_gradient(x, weight, *row[2:])
    print(f"{name}; {np.abs(one.asnumpy() - expected).max()}")
