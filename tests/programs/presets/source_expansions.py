"""Values and gradients of operators and of their expansions, fused and unfused.

The arguments are JSON: name → the function of x, the Cell or an empty text, and the name of its
input; and name → a function of x that MindSpore refuses.
"""

import json
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer

ROWS, WITHOUT_KERNEL = map(json.loads, sys.argv[2:4])
NETS = """from mindspore import mint, nn, ops


class Gradient(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.derive = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, *inputs):
        return self.derive(self.net)(*inputs)
"""
NET = """

class {name}(nn.Cell):
    def construct(self, x):
        return {call} * 2.0


class {name}Ways(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cell = {cell}

    def construct(self, x, y, z):
        return {call} * 2.0, self.cell(y) * 2.0, self.cell({parameter}=z) * 2.0
"""
REFUSED = {f"{name}Refused": (call, "", "") for name, call in WITHOUT_KERNEL.items()}
Path("nets.py").write_text(
    NETS
    + "".join(
        NET.format(name=name, call=call, cell=cell or "nn.ReLU()", parameter=parameter or "input")
        for name, (call, cell, parameter) in (ROWS | REFUSED).items()
    ),
    "utf-8",
)
sys.path.insert(0, ".")
import nets  # noqa: E402

ms.set_context(mode=ms.GRAPH_MODE)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.3, -0.3, 1e-30, 60000.0, -60000.0]
x = np.random.default_rng(1).uniform(-4, 4, (8, 67))
x = np.where(np.abs(np.abs(x) - 0.3) < 0.02, 1.5, x)
x[-1, : len(SPECIAL)] = SPECIAL
dy = np.random.default_rng(2).standard_normal(x.shape)
RESULT |= {"x": x.tolist(), "dy": dy.tolist(), "special": len(SPECIAL)}


def lists(*found):
    return [[str(one.dtype), one.asnumpy().astype(np.float64).tolist()] for one in found]


def explained(net, *inputs):
    given = (Tensor(one, ms.float32) for one in inputs)
    ledger = mf.explain(net, *given, accuracy=False, measure=False, isolate=False)
    return [[list(one.body) for one in ledger.kernels], [str(one) for one in ledger.unfused]]


for name in WITHOUT_KERNEL:
    RESULT[f"{name} refused"] = []
    for preset in ("auto", "off"):
        with mf.fusion(preset):
            try:
                getattr(nets, f"{name}Refused")()(Tensor(x, ms.float32))
            except RuntimeError as error:
                RESULT[f"{name} refused"].append(str(error))
for name in ROWS:
    net = getattr(nets, f"{name}Ways")()
    for dtype in (ms.float32, ms.float16):
        given, cotangents = [Tensor(x, dtype)] * 3, (Tensor(dy, dtype),) * 3
        for preset in ("auto", "off"):
            with mf.fusion(preset):
                values = lists(*net(*given))
                slopes = lists(*nets.Gradient(net)(*given, cotangents))
            RESULT[f"{name} {dtype} {preset}"] = list(zip(values, slopes, strict=True))
    single = getattr(nets, name)()
    RESULT[f"{name} groups"] = [explained(single, x), explained(nets.Gradient(single), x, dy)]
answer()
