"""A second thread calls a net during compilations."""

import threading

import mindspore as ms
from mindspore import nn, ops

import ms_fusion as mf
from ms_fusion.mindspore.state import mindspore_state
from tests.programs.presets.child import RESULT, answer, ones

ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()


class Net(nn.Cell):
    def construct(self, x):
        return ops.tanh(x) * 2 + x


net, x, found = Net(), ones(3, 16), []
net(x)


def and_meanwhile(compile):
    def compiled(*given):
        # MindSpore compiles nothing while it runs, so the calls come just before
        other = threading.Thread(target=lambda: found.append(net(x) is not None))
        other.start()
        other.join()
        return compile(*given)

    return compiled


for owner in mindspore_state.compilers():
    owner.compile = and_meanwhile(owner.compile)
mf.check(Net(), ones(5, 16))
run = mf.specialize(Net(), buckets=(8,))
run(ones(5, 16))
RESULT["padded to"] = run.seen[0].padded_to
RESULT["ran"] = found

answer()
