"""A fusing process starts one without fusion: CHILDREN PRESET FLAGS."""

import os
import subprocess
import sys

import mindspore as ms
from mindspore import nn

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, kernels, ones

ms.set_context(mode=ms.GRAPH_MODE)


class Line(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0


preset, flags = sys.argv[2], sys.argv[3] or None
if os.environ.pop("WANTED", ""):
    Line()(ones(8, 8))
else:
    mf.enable(preset, flags=flags)
    Line()(ones(8, 8))
    child = subprocess.run(
        [sys.executable, __file__, f"{sys.argv[1]}.child", *sys.argv[2:]],
        env=os.environ | {"WANTED": "unfused"},
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        text=True,
    )
    mf.disable()
    RESULT["child"] = [child.returncode, child.stdout]
    RESULT["kernels"] = len(kernels())

answer()
