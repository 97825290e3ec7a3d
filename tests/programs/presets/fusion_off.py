"""State that `MS_FUSION=off` leaves unchanged."""

import os

import mindspore as ms
from mindspore import nn
from mindspore._c_expression import GraphExecutor_
from mindspore.nn.cell import Cell

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, ones


class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0


def step(x):
    return x * 2.0 + 1.0


def lighter():
    """The Cell methods that belong to ms_fusion."""
    phase = vars(Cell)["compile_phase"]
    found = vars(Cell)["_check_construct_args"], vars(Cell)["__setattr__"], phase.fset
    return [one.__globals__["__name__"].startswith("ms_fusion") for one in found]


ms.set_context(mode=ms.GRAPH_MODE)
record = mf.enable(step=step)
RESULT["record"] = [record.fused, record.step is step, *record.warnings]
with mf.fusion("aggressive") as block:
    net = mf.patch(Net())
    net(ones(64, 64))
    RESULT["enabled"] = lighter()
mf.disable()
RESULT["disabled"] = lighter()
RESULT["variables"] = [
    os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS"),
    os.environ.get("MS_COMPILER_CACHE_PATH"),
]
RESULT["hooked"] = hasattr(GraphExecutor_.compile, "_ms_fusion_original")

answer()
