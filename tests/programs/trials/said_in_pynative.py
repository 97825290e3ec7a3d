"""Messages of `enable` in PyNative mode, and of calling a net there."""

import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer

x = Tensor(np.ones((64, 64), np.float32))


class Net(nn.Cell):
    def construct(self, x):
        return ops.exp(x) * 2.0 + 1.0


class Compiled(nn.Cell):
    @ms.jit
    def construct(self, x):
        return ops.exp(x) * 2.0 + 1.0


@ms.jit
def function(x):
    return ops.exp(x) * 2.0 + 1.0


CALLS = {
    "function": lambda: function(x),
    "compiled": lambda: Compiled()(x),
    "uncompiled": lambda: [Net()(x) for _ in range(3)],
    "patched": lambda: mf.patch(Net())(x),
    "step": lambda: mf.enable(step=Net()).step(x),
}
for preset in ("auto", "off"):
    for name, call in CALLS.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            now = mf.enable(preset)
            call()
        line, texts = str(now).splitlines()[0], [str(one.message) for one in said]
        RESULT[f"{name} {preset}"] = [now.fused, line, texts]
        mf.disable()

mf.enable()
RESULT["in force"] = [presets.in_force(one).fused for one in (function, Compiled(), Net())]
RESULT["found"] = {
    name: [one.code for one in mf.check(net, x)]
    for name, net in {"function": function, "compiled": Compiled(), "uncompiled": Net()}.items()
}
ms.set_context(mode=ms.GRAPH_MODE)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    Net()(x)
RESULT["in graph mode"] = [str(one.message) for one in said]

answer()
