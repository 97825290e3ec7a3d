"""Enables fusion; removes the compiler's package if given, then fills the disk."""

import shutil
import sys
import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.state import mindspore_state
from tests.programs.presets.child import RESULT, answer, kernels

ms.set_context(mode=ms.GRAPH_MODE)


class Net(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.norm, self.factor = nn.LayerNorm((16,)), factor

    def construct(self, x):
        return ops.sum(ops.softmax(self.norm(ops.gelu(x) * self.factor), -1) * x, 1)


x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)


def wanted(factor):
    from scipy import special

    y = x.astype(np.float64)
    y = y * special.ndtr(y) * factor
    y = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-7)
    return (special.softmax(y, 1) * x).sum(1)


def tried(name, factor):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        error = np.abs(Net(factor)(Tensor(x)).asnumpy() - wanted(factor)).max()
    told = [str(one.message) for one in said if issubclass(one.category, presets.FusionWarning)]
    RESULT[name] = [float(error), told, len(kernels())]


def enabled(name):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        now = mf.enable()
    RESULT[name] = [
        now.generator,
        [str(one.message) for one in said if issubclass(one.category, presets.FusionWarning)],
    ]


enabled("enabled")
if package := sys.argv[2:]:
    tried("built", 1.5)
    shutil.rmtree(package[0])
    tried("without compiler", 2.5)
    mindspore_state.LEAST_FREE_BYTES = 1 << 60
    tried("full", 3.5)
    tried("still full", 4.5)

answer()
