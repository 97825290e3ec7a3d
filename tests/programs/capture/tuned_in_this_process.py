"""Tunes a small net without a child process and without time for single kernels."""

import functools

import mindspore as ms
from mindspore import ops

import ms_fusion as mf
from ms_fusion.capture import explain_net, tune
from ms_fusion.mindspore.presets import net_choices
from tests.programs.presets.child import RESULT, answer, bodies, ones

tune.capture_net = functools.partial(explain_net.capture_net, isolate=False)
ms.set_context(mode=ms.GRAPH_MODE)


def net(x):
    return ops.relu(x * 2.0 + 1.0)


x = ones(64, 32)
found = mf.tune(net, x, seconds=0.1)
RESULT["variants"] = [[one.name, one.step_us > 0, one.unfused_us > 0] for one in found.variants]
RESULT["kernels"] = [one.name for one in found.kernels]
RESULT["table"] = str(found)
RESULT["known"] = net_choices.recall(net, (x,)) == found.choice
RESULT["built"] = len(bodies())

answer()
