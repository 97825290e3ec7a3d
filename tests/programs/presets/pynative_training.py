"""A PyNative training script: unchanged, with its step enabled, and with its net patched."""

import os

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.presets import pynative
from tests.programs.presets.child import RESULT, answer, bodies


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm((32,)), nn.Dense(32, 64), nn.Dense(64, 32)

    def construct(self, x):
        y = self.up(self.norm(x))
        return x + self.down(y / (1.0 + ops.abs(y)) * 0.5 + y * 0.25)


np.random.seed(3)
x = Tensor(np.random.rand(128, 32).astype(np.float32))
y = Tensor(np.random.rand(128, 32).astype(np.float32))


def script():
    """The net and its training step, as a user writes them."""
    ms.set_seed(3)
    np.random.seed(3)
    net = Block()
    loss_function = nn.MSELoss()
    optimizer = nn.Adam(net.trainable_params(), 1e-2)

    def forward(x, y):
        return loss_function(net(x), y)

    gradients = ms.value_and_grad(forward, None, optimizer.parameters)

    def train_step(x, y):
        loss, grads = gradients(x, y)
        optimizer(grads)
        return loss

    return net, train_step


def groups():
    """The descriptions of kernels so far, by name."""
    return {body["op"]: body for body in bodies()} if "MS_COMPILER_CACHE_PATH" in os.environ else {}


def trained(step):
    """The losses, the sizes of the built groups, and the mode afterwards."""
    before = groups()
    losses = [float(step(x, y).asnumpy()) for _ in range(5)]
    new = [len(body["op_desc"]) for name, body in groups().items() if name not in before]
    return {
        "losses": losses,
        "operators": new,
        "mode": "pynative" if ms.get_context("mode") == ms.PYNATIVE_MODE else "graph",
    }


net, train_step = script()
RESULT["plain"] = trained(train_step)

net, train_step = script()
record = mf.enable(step=train_step)
RESULT["enabled"] = trained(record.step) | {
    "warnings": list(record.warnings),
    "fused": record.fused,
}
mf.disable()

net, train_step = script()
net.set_train()
mf.patch(net)
RESULT["in force"] = [
    presets.in_force(net).fused,
    list(presets.in_force(net).warnings),
    presets.in_force().scope,
]
net.phase_cache["prefill"] = "of a graph"
mf.patch(net)
RESULT["phases"] = len(net.phase_cache)
RESULT["patched"] = trained(train_step)

told, flags_set = [], pynative.override_flags
pynative.override_flags = lambda text: (told.append(text), flags_set(text))[1]
net(x)
RESULT["flags set"] = [len(told)]
train_step(x, y)
RESULT["flags set"].append(len(told))
pynative.override_flags = flags_set

first = vars(net)["construct"]
mf.patch(net, "basic")
mf.patch(Block())
RESULT["again"] = [presets.in_force(net).preset, vars(net)["construct"] is not first]
presets.unpatch(net)
RESULT["undone"] = "construct" in vars(net)

answer()
