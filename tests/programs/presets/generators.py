"""Nets compiled as graphs, and the messages of `enable` and of calls."""

import warnings

import mindspore as ms
from mindspore import nn, ops

import ms_fusion as mf
from tests.programs.presets.child import ones

ms.set_context(mode=ms.GRAPH_MODE)


class Net(nn.Cell):
    def construct(self, x):
        return ops.sqrt(ops.exp(x * 0.0) + x * 3.0)


class Kept(nn.Cell):
    def construct(self, x):
        return ops.select(x <= 2.0, ops.abs(x), ops.sqrt(x))


class Line(nn.Cell):
    def construct(self, x):
        return x * 2.5 + 1.25


def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call()
    return [
        value,
        [str(item.message) for item in caught if item.category.__name__ == "FusionWarning"],
    ]


def enabled(**arguments):
    return told(lambda: mf.enable(**arguments).generator)


def called(net):
    return told(lambda: float(net(ones(64, 64)).asnumpy()[0, 0]))
