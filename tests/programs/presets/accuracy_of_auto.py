"""Operators of the preset auto beside the unfused ones."""

import sys
import warnings
from math import erf
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, kernels

ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
random = np.random.default_rng(2)


def draw(scale=4.0):
    return (random.standard_normal((64, 512)) * scale).astype(np.float32)


x, y, positive = draw(), draw(), np.exp(draw()).astype(np.float32)
CASES = {
    "Div": ("(a, b)", lambda a, b: a / b, (x, y)),
    "RealDiv": ("(a, b)", lambda a, b: a / b, (x, y)),
    "Sin": ("(a)", np.sin, (x,)),
    "Cos": ("(a)", np.cos, (x,)),
    "Atan": ("(a)", np.arctan, (x,)),
    "Erf": ("(a)", np.vectorize(erf), (x,)),
    "Floor": ("(a)", np.floor, (x,)),
    "FloorDiv": ("(a, b)", np.floor_divide, (x, y)),
    "Sqrt": ("(a)", np.sqrt, (positive,)),
    "Rsqrt": ("(a)", lambda a: 1 / np.sqrt(a), (positive,)),
    "Pow": ("(a, b)", np.power, (positive, (x / 8).astype(np.float32))),
    "ReduceMin": ("(a, -1)", lambda a: a.min(-1), (x,)),
    "ReduceMax": ("(a, -1)", lambda a: a.max(-1), (x,)),
    "ReduceSum": ("(a, -1)", lambda a: a.sum(-1), (positive,)),
    "SquaredDifference": ("(a, b)", lambda a, b: (a - b) ** 2, (x, y)),
    "Tile": ("(a, (2, 1))", lambda a: np.tile(a, (2, 1)), (x,)),
}


def ulp(got, want):
    unit = np.spacing(np.maximum(np.abs(want), 1.2e-38).astype(np.float32)).astype(np.float64)
    return float((np.abs(got.astype(np.float64) - want) / unit).max())


source = "import mindspore.ops.operations as O\nfrom mindspore import nn\n"
for name, (text, _, arrays) in CASES.items():
    names = ", ".join("ab"[: len(arrays)])
    source += (
        f"class {name}(nn.Cell):\n"
        f"    def construct(self, {names}):\n"
        f"        return O.{name}(){text}\n"
    )
Path("nets.py").write_text(source)
sys.path.insert(0, str(Path.cwd()))
import nets  # noqa: E402 - written above

for name, (_, meaning, arrays) in CASES.items():
    want = meaning(*(array.astype(np.float64) for array in arrays))
    errors = []
    for preset in ("off", "auto"):
        before = len(kernels())
        with mf.fusion(preset, generator="mindspore"):
            got = getattr(nets, name)()(*map(Tensor, arrays)).asnumpy()
        errors.append(ulp(got, want))
    RESULT[name] = [*errors, len(kernels()) - before]

answer()
