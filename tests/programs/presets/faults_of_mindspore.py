"""Gradients and updates that MindSpore computes wrongly."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from ms_fusion.mindspore import presets
from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)


class Selu(nn.Cell):
    def construct(self, x):
        return ops.sum(ops.selu(x) * 2.0)


class Larger(nn.Cell):
    def construct(self, x):
        return ops.sum(ops.square(ops.fmax(x, x * 0.5)) * 0.1)


class Padded(nn.Cell):
    def construct(self, x):
        return ops.sum(ops.pad(x, (1, 2)))


class ReadFirst(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = ms.Parameter(Tensor(np.ones((4, 8), np.float32)), name="p")

    def construct(self, x):
        y = ops.tanh(self.p.reshape(8, 4)).reshape(4, 8) - x
        ops.assign(self.p, x * 0.5)
        return y


class Slope(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.gradient = ops.GradOperation()(net)

    def construct(self, x):
        return self.gradient(x)


def changes(make, size):
    parameter = ms.Parameter(Tensor(np.zeros(size, np.float32)), name="p")
    step = make([parameter])
    found = []
    for _ in range(2):
        step((Tensor(np.full(size, 0.125, np.float32)),))
        found.append(parameter.asnumpy().tolist())
    return found


x = Tensor(np.array([-2.5625, -0.5, 0.3125, 1.4375], np.float32))
for way, flags in (("unfused", "--opt_level=0"), ("fused", flags_for_own_generator(2).render())):
    with presets.environment_flags(flags):
        RESULT[f"selu {way}"] = ms.grad(Selu())(x).asnumpy().tolist()
        RESULT[f"larger {way}"] = (
            ms.grad(Larger())(Tensor(np.array([0.3, 0.7, 1.1]))).asnumpy().tolist()
        )
        slope, row = Slope(Padded()), Tensor(np.ones(7, np.float32))
        RESULT[f"padding {way}"] = [slope(row).asnumpy().tolist() for _ in range(3)]
        RESULT[f"nesterov {way}"] = changes(
            lambda one: nn.Momentum(one, 0.1, 0.5, use_nesterov=True), 4
        )
        RESULT[f"rmsprop {way}"] = changes(lambda one: nn.RMSProp(one, 0.1, epsilon=0.25), 17)

for way, flags in (("unfused", "--opt_level=0"), ("fused", "--opt_level=2")):
    with presets.environment_flags(flags):
        RESULT[f"read first {way}"] = float(
            ReadFirst()(Tensor(np.full((4, 8), 4.0, np.float32))).asnumpy().mean()
        )

answer()
