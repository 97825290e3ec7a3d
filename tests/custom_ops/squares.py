"""Gradients in MindSpore of the sum of squares of a net's results."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn


class Squared(nn.Cell):
    """The sum of squares."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, *inputs):
        """Forward computation."""
        y = self.net(*inputs)
        return (y * y).sum()


def gradients(net, *arrays):
    """Arrays: gradients of the inputs, then of the weights."""
    squared = Squared(net)
    places = tuple(range(len(arrays)))
    found, weights = ms.grad(squared, places, squared.trainable_params())(*map(Tensor, arrays))
    # for one input MindSpore returns no tuple
    found = found if isinstance(found, tuple) else (found,)
    return [one.asnumpy() for one in (*found, *weights)]
