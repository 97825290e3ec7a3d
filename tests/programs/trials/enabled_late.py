"""Nets compiled before their flags change: the calls that launch a fused kernel."""

import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.kernel_server import launch_log
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
x = Tensor(np.linspace(-1, 1, 4096, dtype=np.float32).reshape(64, 64))
WANTED = np.exp(x.asnumpy()) * 2 + 1


class Net(nn.Cell):
    def construct(self, x):
        return ops.exp(x) * 2.0 + 1.0


@ms.jit
def function(x):
    return ops.exp(x) * 2.0 + 1.0


def fused(net):
    """Whether a call launches one kernel of ours; checks its result."""
    with launch_log.watch_launches() as seen:
        made = net(x).asnumpy()
    assert np.allclose(made, WANTED, rtol=1e-5)
    return len(seen) == 1


def graphs(net):
    return len(net.compile_cache)


def generating():
    """In this phase MindSpore takes a Cell's last graph without checking the arguments."""
    net = Net()
    net.phase = "prefill"
    return net


# a first call before fusion is enabled
net, generator, patched = Net(), generating(), Net()
late = {
    "Cell": net,
    "function": function,
    "generator": generator,
    "specialized": mf.specialize(Net()),
}
RESULT["before"] = [fused(one) for one in late.values()]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    mf.patch(patched, "off")
    fused(patched)
    RESULT["first line"] = str(mf.enable()).splitlines()[0]
    RESULT["enabled"] = {name: [fused(one), fused(one)] for name, one in late.items()}
    RESULT["patched"] = [fused(patched), graphs(patched)]
    RESULT["checked"] = [str(one) for one in mf.check(net, x)]
    ledger = mf.explain(net, x, measure=False, accuracy=False, isolate=False)
RESULT["notes"], RESULT["said"] = list(ledger.notes), [str(one.message) for one in said]

# each set of flags has one cached graph
RESULT["graphs"] = [graphs(net)]
mf.disable()
RESULT["disabled"] = {name: fused(one) for name, one in late.items()}
mf.enable("basic")
RESULT["basic"] = fused(net)
mf.enable()
mf.enable()
RESULT["again"] = fused(net)
RESULT["graphs"].append(graphs(net))

# a block applies to the calls inside it
with mf.fusion("off"):
    RESULT["inside"] = {name: fused(one) for name, one in late.items()}
RESULT["outside"] = {name: fused(one) for name, one in late.items()}
RESULT["graphs"].append(graphs(net))

# and to compilations inside it
made = Net()
with mf.fusion("off"):
    fused(made)
RESULT["made in a block"] = [fused(made)]
mf.disable()
with mf.fusion():
    RESULT["made in a block"].append(fused(made))
mf.enable()
RESULT["made in a block"] += [fused(made), graphs(made)]

# number of calls that bypass MindSpore
for _ in range(30):
    net(x)
with mf.fusion("off"):
    RESULT["past MindSpore"] = [fused(net)]
RESULT["past MindSpore"].append(fused(net))


class Trained(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(64, 1, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return ops.square(ops.tanh(self.dense(x)) - 0.25).mean()


def losses(switch):
    net = Trained()
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-2)).set_train()
    found = []
    for number in range(6):
        if switch and number in (2, 4):
            (mf.enable, mf.disable)[number // 2 - 1]()
        found.append(float(step(x).asnumpy()))
    return found


mf.disable()
RESULT["losses"] = [losses(False), losses(True)]

# a Cell patched again in PyNative mode
ms.set_context(mode=ms.PYNATIVE_MODE)
again = Net()
RESULT["patched again"] = [fused(mf.patch(again, preset)) for preset in ("off", "auto", "off")]

answer()
