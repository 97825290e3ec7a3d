"""Kernels of MindSpore's own generator with names of equal length."""

import os
from pathlib import Path

import mindspore as ms
from mindspore import nn

from tests.programs.presets.child import RESULT, answer, kernels, ones

ms.set_context(mode=ms.GRAPH_MODE)
os.environ["MS_COMPILER_CACHE_PATH"] = str(Path.cwd())
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2"


class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0


Net()(ones(64, 64))
first = set(kernels())


class Other(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def construct(self, x):
        return x * self.factor + 1.0


for factor in range(3, 12):
    Other(factor)(ones(64, 64))
    if any(len(name) == len(min(first)) for name in set(kernels()) - first):
        break
RESULT["kernel"] = min(first)
RESULT["others"] = sorted(set(kernels()) - first)

answer()
