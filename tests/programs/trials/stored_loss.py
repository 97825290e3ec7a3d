"""A stored loss keeps a net unfused: compilations obey and report it until it is deleted."""

import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.kernel_server import launch_log
from ms_fusion.mindspore.presets import net_choices
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
x = Tensor(np.ones((64, 64), np.float32))


class Net(nn.Cell):
    def construct(self, x):
        return ops.exp(x) * 2.0 + 1.0


def fused(net):
    with launch_log.watch_launches() as seen:
        net(x)
    return len(seen) == 1


mf.enable()
net = Net()
RESULT["fused"] = [fused(net)]
why = "the net stays unfused: fused it took 1.31 × as long."
net_choices.remember(net, [x], net_choices.NetChoice(fused=False, why=why))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    RESULT["fused"].append(fused(Net()))
    fused(Net())
RESULT["said"] = [str(one.message) for one in said]
later = Net()
fused(later)
RESULT["forgotten"] = mf.tune(later, forget=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    RESULT["fused"].append(fused(later))
RESULT["said later"] = [str(one.message) for one in said]

answer()
