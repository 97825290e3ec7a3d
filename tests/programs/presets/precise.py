"""Operator pairs and trees under the preset precise, bit by bit: PRECISE DTYPE STEP ELEMENTS.

One pair of STEP is tested.
"""

import importlib
import random as random_module
import re
import sys
import warnings
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, bodies

ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
FLOATS = {"Abs": "{0}", "Sqrt": "{0}", "Floor": "{0}", "Select": "b,{0},y"}
COMPARES = ["LessEqual", "GreaterEqual"]
TESTS = ["IsNan", "IsInf", "IsFinite"]
pairs = []  # (producer, consumer, expression)
producers = {"Abs": "Abs(x)", "Sqrt": "Sqrt(x)", "Floor": "Floor(x)", "Select": "Select(b,x,y)"}
for first, made in producers.items():
    for then in ("Abs", "Sqrt", "Floor", *TESTS):
        pairs.append((first, then, f"{then}({made})"))
    for then in COMPARES:
        pairs += [
            (first, then, f"{then}({made},{other})") for other in ("y", made.replace("x", "z"))
        ]
        pairs.append((first, then, f"{then}(x,{made})"))
    pairs += [(first, "Select", f"Select(b,{made},y)"), (first, "Select", f"Select(c,x,{made})")]
producers = {name: f"{name}(x,y)" for name in COMPARES} | {name: f"{name}(x)" for name in TESTS}
producers["LogicalAnd"] = "LogicalAnd(b,c)"
for first, made in producers.items():
    pairs += [(first, "Select", f"Select({made},{sides})") for sides in ("x,y", "y,x", "x,0.0")]
    pairs += [(first, "LogicalAnd", f"LogicalAnd({made},b)")]
    pairs.append((first, "LogicalAnd", f"LogicalAnd({made},{producers['LessEqual']})"))
dice = random_module.Random(11)


def number(depth):
    if depth == 0:
        return dice.choice(["x", "y", "x", "z"])
    one, other = number(depth - 1), number(dice.randrange(depth))
    return dice.choice(
        [
            f"Abs({one})",
            f"Sqrt({one})",
            f"Floor({one})",
            f"Select({truth(depth - 1)},{one},{other})",
        ]
    )


def truth(depth):
    if depth == 0:
        return dice.choice("bc")
    by = dice.choice([*COMPARES, *COMPARES, *TESTS, "LogicalAnd"])
    if by == "LogicalAnd":
        return f"LogicalAnd({truth(depth - 1)},{truth(depth - 1)})"
    return (
        f"{by}({number(depth - 1)},{number(depth - 1)})"
        if by in COMPARES
        else f"{by}({number(depth - 1)})"
    )


pairs += [
    ("Abs", "Sqrt", f"Select({truth(3)},{number(3)},{number(2)})") for _ in range(24)
]  # and whole trees
pairs = pairs[:: int(sys.argv[3])]
contracted = [("Mul", "Add", "Add(Mul(x,y),z)"), ("Mul", "Add", "Add(Mul(x,y),x)")]
sys.path.insert(0, str(Path.cwd()))


def nets(pairs, module):
    """At most 24 pairs each: those pairs, and the Cell that computes them."""
    names = sorted({name for *_, text in pairs for name in re.findall(r"([A-Z]\w+)\(", text)})
    source = "import mindspore.ops.operations as O\nfrom mindspore import nn\n"
    source += "".join(f"{name} = O.{name}()\n" for name in names)
    chunks = [pairs[start : start + 24] for start in range(0, len(pairs), 24)]
    for number, chunk in enumerate(chunks):
        source += f"class Net{number}(nn.Cell):\n    def construct(self, x, y, z, b, c):\n"
        lines = "".join(f"            {expression},\n" for _, _, expression in chunk)
        source += f"        return (\n{lines}        )\n"
    Path(f"{module}.py").write_text(source)
    made = importlib.import_module(module)
    return [(chunk, getattr(made, f"Net{number}")) for number, chunk in enumerate(chunks)]


random = np.random.default_rng(5)
dtype, elements = np.dtype(sys.argv[2]), int(sys.argv[4])
info = np.finfo(dtype)
edges = np.array(
    [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        info.max,
        -info.max,
        info.tiny,
        -info.tiny,
        info.smallest_subnormal,
        -info.smallest_subnormal,
        info.tiny / 2,
        1,
        -1,
        0.5,
        -0.5,
        1.5,
        -2.5,
        1 + info.eps,
        1 / 3,
    ],
    dtype,
)
grid = np.array(np.meshgrid(edges, edges, edges)).reshape(3, -1)


def values(row):
    bits = random.integers(0, 256, elements * dtype.itemsize, dtype=np.uint8).view(dtype).copy()
    bits[: elements // 2] = (random.standard_normal(elements // 2) * 3).astype(dtype)
    random.shuffle(bits)
    bits[: grid.shape[1]] = grid[row]
    return bits.reshape(-1, 1000)


arrays = [values(row) for row in range(3)] + [
    random.integers(0, 2, (elements // 1000, 1000)).astype(bool) for _ in "bc"
]
inputs = [Tensor(array) for array in arrays]


def outputs(net, preset):
    with mf.fusion(preset, generator="mindspore"):
        return [tensor.asnumpy() for tensor in net()(*inputs)]


def different(pairs, module, preset):
    """The expressions that differ from the unfused ones in some bit, and how often."""
    found = []
    for chunk, net in nets(pairs, module):
        for (_, _, expression), one, other in zip(
            chunk, outputs(net, "off"), outputs(net, preset), strict=True
        ):
            if np.array_equal(one.view(f"u{one.itemsize}"), other.view(f"u{one.itemsize}")):
                continue
            unlike = one.view(f"u{one.itemsize}") != other.view(f"u{one.itemsize}")
            if one.dtype.kind == "f":
                unlike &= ~(np.isnan(one) & np.isnan(other))  # all NaN payloads are equal
            if unlike.any():
                found.append([expression, float(unlike.mean())])
    return found


RESULT["pairs"] = len(pairs)
RESULT["different"] = different(pairs, "precise_nets", "precise")
joined = set()
for body in bodies():
    made = {}
    for step in body["op_desc"]:
        for group in step["input_desc"]:
            for item in group:
                if item["tensor_name"] in made:
                    joined.add((made[item["tensor_name"]], step["name"]))
        for item in step["output_desc"]:
            made[item["tensor_name"]] = step["name"]
RESULT["apart"] = sorted({pair[:2] for pair in pairs} - joined)
RESULT["contracted"] = different(contracted, "contracted_nets", "aggressive")

answer()
