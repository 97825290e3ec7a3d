"""Messages, refusals and findings of `check`."""

import os
import warnings
from functools import partial

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer, ones

warnings.simplefilter("ignore")
default = mf.enable()
RESULT["pynative"] = [default.fused, default.mode, default.remedy, str(default)]
mf.disable()
ms.set_context(mode=ms.GRAPH_MODE)
RESULT["none"] = [presets.in_force().route, presets.in_force().remedy]
ms.set_context(jit_config={"jit_level": "O1"})
RESULT["O1"] = [presets.in_force().fused, *presets.in_force().warnings]
ms.set_context(jit_config={"jit_level": "O0"})
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--enable_cluster_ops=Div"
RESULT["no level"] = [presets.in_force().fused, presets.in_force().scope, presets.in_force().remedy]
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2 --enable_cse=true"
RESULT["own"] = [presets.in_force().fused, presets.in_force().scope, *presets.in_force().warnings]
mf.enable()
RESULT["over the user's"] = [presets.in_force().scope]
RESULT["the user's"] = os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS")
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=0"
RESULT["changed after"] = [
    presets.in_force().fused,
    presets.in_force().scope,
    *presets.in_force().warnings,
]
del os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"]
RESULT["ours again"] = presets.in_force().scope
mf.disable()


class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0


net = Net()
net.set_jit_config(ms.JitConfig(jit_level="O1", graph_kernel_flags="--opt_level=2"))
RESULT["JitConfig"] = [presets.in_force(net).fused, presets.in_force(net).route]


def refused(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it raises
        return [type(error).__name__, str(error)]
    return ["nothing"]


two = ones(64, 64)
for name, arguments in {
    "DVM": {"flags": "--opt_level=2 --kernel_generator=DVM"},
    "tuning": {"flags": "--online_tuning=1"},
    "dynamic": {"flags": "--enable_dynamic_shape_fusion=true"},
    "generator": {"generator": "AKG_V2"},
    "Round": {"flags": "--enable_cluster_ops=Round", "generator": "mindspore"},
    "preset": {"preset": "fast"},
    "lint": {"flags": "--enable_cluster_ops=Div --opt_lvl=2"},
}.items():
    RESULT[name] = refused(partial(mf.enable, **arguments))
RESULT["nothing set"] = presets.in_force().route
half = Tensor(np.ones((64, 64)), ms.bfloat16)
mf.enable(generator="mindspore")
RESULT["bfloat16"] = refused(lambda: Net()(half))
mf.disable()
RESULT["bfloat16 patched"] = refused(lambda: mf.patch(Net(), generator="mindspore")(half))
RESULT["function"] = refused(lambda: mf.patch(len))
RESULT["step"] = [refused(lambda: mf.enable(step=5))[0], presets.in_force().scope]
ms.set_context(mode=ms.PYNATIVE_MODE)
RESULT["patched, in PyNative mode"] = [item.code for item in mf.check(mf.patch(Net()), two)]
ms.set_context(mode=ms.GRAPH_MODE)


class Sum(nn.Cell):
    def construct(self, x):
        return ops.pow(x, x).sum() + 1


class Alone(nn.Cell):
    def construct(self, x):
        return ops.pow(x, x) * x


numbers = Tensor(np.full((64, 64), 2, np.int32))


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call().asnumpy().ravel()[0]
    told = [
        [str(item.message), item.filename]
        for item in caught
        if item.category.__name__ == "FusionWarning"
    ]
    return [float(value), told]


# a group that the generator cannot build runs unfused, and the process survives; a repeat is
# refused again
RESULT["Pow before a sum"] = warned(lambda: mf.patch(Sum(), generator="mindspore")(numbers))
RESULT["Pow alone"] = warned(lambda: mf.patch(Alone(), generator="mindspore")(numbers))
RESULT["Pow once more"] = warned(lambda: mf.patch(Alone(), generator="mindspore")(numbers))
mf.enable(generator="mindspore")
RESULT["Pow enabled"] = warned(lambda: Alone()(numbers))


@ms.jit
def function(x):
    return ops.pow(x, x) * x


RESULT["Pow in a function"] = warned(lambda: function(numbers))
RESULT["nothing to say"] = warned(lambda: Net()(two))


class Moving(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0


shifting = Moving()
shifting.set_inputs(Tensor(shape=[None, 64], dtype=ms.float32))
RESULT["dynamic shape"] = warned(lambda: shifting(two))
mf.disable()
RESULT["after it"] = float(mf.patch(Net(), generator="mindspore")(two).asnumpy()[0, 0])


class ToHalf(nn.Cell):
    def construct(self, x):
        return ops.cast(x * x, ms.float16) * 2


wide = Tensor(np.full((64, 64), 3.0))
RESULT["float64 to float16"] = float(
    mf.patch(ToHalf(), generator="mindspore")(wide).asnumpy()[0, 0]
)
with mf.fusion(generator="mindspore"):
    RESULT["check"] = [item.code for item in mf.check(Alone(), numbers)]
RESULT["tiny"] = [item.code for item in mf.check(Net(), ones(8, 8))]
RESULT["clean"] = [item.code for item in mf.check(Net(), two)]
moving = Net()
moving.set_inputs(Tensor(shape=[None, 64], dtype=ms.float32))
RESULT["moving"] = [item.code for item in mf.check(moving, two)]
RESULT["wrong input"] = refused(lambda: mf.check(Net(), "text", two))


class Wrong(nn.Cell):
    def construct(self, x):
        return x + ops.ones((3, 5))


RESULT["wrong shape"] = refused(lambda: mf.check(Wrong(), two))
RESULT["left"] = os.listdir()

answer()
