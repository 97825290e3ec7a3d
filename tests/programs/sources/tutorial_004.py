"""The steps of document 004 in a net: flags, Conv + BN + ReLU, control flow, dynamic shapes."""

import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, context, nn

import ms_fusion as mf
from ms_fusion.kernel_server import launch_log
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer

# 2.2
context.set_context(
    mode=context.GRAPH_MODE,
    device_target="CPU",
    graph_kernel_flags="--opt_level=2 --enable_cse=True",
)
RESULT["in_force"] = list(presets.in_force().warnings)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    now = mf.enable()
RESULT["enabled"] = now.fused
RESULT["said"] = [str(one.message) for one in said if one.category.__name__ == "FusionWarning"]
with mf.fusion("basic") as inside:
    RESULT["inside"] = list(inside.warnings)
context.set_context(graph_kernel_flags="--opt_level=2")
RESULT["good flags"] = list(mf.enable().warnings)


# 2.1
class ConvBNReLU(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.bn(self.conv(x)))


x = Tensor(np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32))
net = ConvBNReLU().set_train(False)
net(x)
with launch_log.watch_launches() as seen:
    net(x)
RESULT["conv, bn, relu"] = len(seen)


# 5.1
class Branches(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3)
        self.conv2 = nn.Conv2d(3, 8, 3)

    def construct(self, x):
        y = x * 2.0 + 1.0
        y = self.conv1(y) if x.sum() > 0 else self.conv2(y)
        return y * 2.0


ledger = mf.explain(Branches(), x, measure=False, accuracy=False, isolate=False)
RESULT["reasons"] = sorted({edge.reason for edge in ledger.unfused})
work = ledger.kernels[0].work
RESULT["density"] = [work.flops, work.bytes, work.arithmetic_intensity]


# 6
net = ConvBNReLU().set_train(False)
net.set_inputs(Tensor(shape=[None, 3, 32, 32], dtype=ms.float32))
RESULT["dynamic"] = [str(item) for item in mf.check(net, x)]
answer()
