"""Precedence of the named scopes (``u-b-`` …); nested blocks; copied and recompiled Cells."""

import copy
import os
import sys
import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.presets import net_choices
from tests.programs.presets.child import RESULT, answer, kernels, ones

ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
NAME = "MS_DEV_GRAPH_KERNEL_FLAGS"


class Chain(nn.Cell):
    def construct(self, x):
        return ops.sqrt(ops.abs(x * 2.0 + 1.0 - x))


# each scope fuses another pair, so a kernel's name identifies the active flags
def only(names):
    return f"--opt_level=2 --enable_cluster_ops_only={names}"


USER, PROCESS, BLOCK, CELL = (
    only(names) for names in ("Mul,Add", "Add,Sub", "Sub,Abs", "Abs,Sqrt")
)
PAIRS = {
    "Fused_Mul_Add": "user",
    "Fused_Add_Sub": "process",
    "Fused_Sub_Abs": "block",
    "Fused_Abs_Sqrt": "Cell",
}
size = 64


def seen(patched=False):
    global size
    size += 8
    before, net = set(kernels()), Chain()
    if patched:
        mf.patch(net, "expert", flags=CELL)
    told = presets.in_force(net).scope
    net(ones(size, 64))
    new = [
        scope
        for kernel in set(kernels()) - before
        for start, scope in PAIRS.items()
        if kernel.startswith(start)
    ]
    return [told, *new]


def scope(*, user, process, block, cell):
    os.environ.pop(NAME, None)
    if user:
        os.environ[NAME] = USER
    before = os.environ.get(NAME)
    if process:
        mf.enable("expert", flags=PROCESS)
    if block:
        held = os.environ.get(NAME)
        with mf.fusion("expert", flags=BLOCK):
            got = seen(cell)
        assert os.environ.get(NAME) == held
    else:
        got = seen(cell)
    if process:
        mf.disable()
    assert os.environ.get(NAME) == before
    return got


ONE_BY_ONE = ("user", "process", "block", "cell")
presets.kernel_directory()
for which in sys.argv[2:]:
    RESULT[which] = scope(
        **{name: letter != "-" for name, letter in zip(ONE_BY_ONE, which, strict=True)}
    )

os.environ.pop(NAME, None)
earlier = set(kernels())
values = [os.environ.get(NAME)]
mf.enable("basic")
with mf.fusion("aggressive") as outer:
    values.append(outer.preset)
    try:
        with mf.fusion("off") as inner:
            values.append(inner.preset)
            raise KeyError("out of the block")
    except KeyError:
        values.append(presets.in_force().preset)
values.append(presets.in_force().preset)
mf.disable()
values.append(os.environ.get(NAME))
with mf.fusion("precise"):
    values.append(presets.in_force().preset)
values.append(os.environ.get(NAME))
RESULT["values"] = values


# a copy of a patched Cell keeps its preset and compiles itself, not the original
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ones(4), name="w")

    def construct(self, x):
        return x * self.w + 1.0


net = mf.patch(Net(), "auto")
twin = copy.deepcopy(net)
twin.w.set_data(Tensor(np.full(4, 3, np.float32)))
RESULT["copy"] = [
    presets.in_force(twin).scope,
    float(twin(ones(64, 4)).asnumpy()[0, 0]),
    float(net(ones(64, 4)).asnumpy()[0, 0]),
]
RESULT["fused"] = [
    kernel for kernel in set(kernels()) - earlier if kernel.startswith("Fused_Mul_Add")
]

# a net compiled before its flags is recompiled
late = Net()
late(ones(72, 4))
count = len(kernels())
RESULT["checked"] = [item.code for item in mf.check(late, ones(72, 4))]
mf.patch(late, "auto")
late(ones(72, 4))
RESULT["late"] = len(kernels()) - count
presets.unpatch(late)
RESULT["unpatched"] = presets.in_force(late).scope

with presets.environment_flags("--opt_level=2 --enable_cluster_ops_only=Sub"):
    patched = mf.patch(Net(), "auto")
    before = set(kernels())
    patched(ones(80, 4))
    RESULT["fixed"] = sorted(set(kernels()) - before)

# settings of a compilation are read then, not with each call
asked, look_up = [], net_choices.apply_choice
net_choices.apply_choice = lambda *given: asked.append(1) or look_up(*given)


@ms.jit
def function(x):
    return x * 2.0 + 1.0


with mf.fusion("auto"):
    for often in (Net(), function):
        for rows in (8, 16, 8, 16, 16):
            often(ones(rows, 4))
RESULT["asked"] = len(asked)


@ms.jit
def beside_a_number(x):
    return x * 2.0 + 1.0


with mf.fusion("auto", generator="ms_fusion"), warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = beside_a_number(Tensor(np.arange(4, dtype=np.float32)).astype(ms.bfloat16))
RESULT["bfloat16"] = [
    found.astype(ms.float32).asnumpy().tolist(),
    sum("bfloat16" in str(one.message) for one in said),
]

answer()
