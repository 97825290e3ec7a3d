"""Gradients in PyNative mode that fail, then correct ones, of Cells with weights."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.ops.composite import base

import custom_ops
import ms_fusion as mf
from tbe_impl.errors import InputError

if "fused" in sys.argv:
    mf.enable()
ms.set_context(mode=ms.PYNATIVE_MODE)


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = custom_ops.Dense(8, 8)

    def construct(self, x):
        return self.dense(x).sum()


def gradient(net):
    return ms.value_and_grad(net, None, net.trainable_params())


net, x = Loss(), Tensor(np.ones((2, 8), np.float32))
try:
    gradient(net)(Tensor(np.ones((2, 9), np.float32)))
except InputError as error:
    print("failed;", error)
print("recording;", base._pynative_executor.grad_flag())
right = gradient(net)(x)
try:
    found = ms.jit(gradient(net))(x)
    same = all(
        np.allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
        for one, other in zip(found[1], right[1], strict=True)
    )
    print("compiled;", same)
except RuntimeError as error:
    print("compiled;", str(error).splitlines()[0][:200])
