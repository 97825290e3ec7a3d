"""The jit level of each scope, as on Ascend."""

import warnings

import mindspore as ms
from mindspore import nn

import ms_fusion as mf
from ms_fusion.mindspore.presets import scopes
from tests.programs.presets.child import RESULT, answer

scopes.device_target = lambda: "Ascend"


class Net(nn.Cell):
    def construct(self, x):
        return x


def level():
    return (ms.get_context("jit_config") or {}).get("jit_level", "")


compile = scopes._wrap_compile(lambda self, net, inputs: level())


def compiled(net):
    return compile(None, net, ())


warnings.simplefilter("ignore")
RESULT["as it comes"] = [level(), compiled(Net()), compiled(mf.patch(Net()))]
with mf.fusion():
    RESULT["block"] = [level(), compiled(Net()), compiled(mf.patch(Net(), "off"))]
RESULT["behind"] = level()
mf.enable()
with mf.fusion("off"):
    RESULT["off inside"] = [level(), compiled(mf.patch(Net()))]
RESULT["process"] = level()
mf.disable()
RESULT["disabled"] = level()

answer()
