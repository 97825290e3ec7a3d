"""Lists the MindSpore functions replaced by an import, by a preset, and during a compilation."""

import importlib
import sys
import types
import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.train import amp  # noqa: F401 - `patch` replaces a function of it

warnings.simplefilter("ignore")
RESOURCES = "mindspore.graph._parse.resources"
REGISTER = "mindspore.ops.op_info_register"
"""A class of another module, replaced there."""
for later in (RESOURCES, REGISTER, "mindspore.nn.layer.normalization"):
    importlib.import_module(later)
MISSING = "missing"


def members():
    """Name → function, method, property or entry, of every loaded MindSpore module."""
    found = {}
    for place, module in list(sys.modules.items()):
        if not place.startswith("mindspore") or not isinstance(module, types.ModuleType):
            continue
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) == place and isinstance(value, type):
                for own, member in list(vars(value).items()):
                    if not own.startswith("__") or own in (
                        "__call__",
                        "__setattr__",
                        "__setattr_flag__",
                    ):
                        found[f"{place}.{value.__qualname__}.{own}"] = member
            elif callable(value) and (
                place == REGISTER or getattr(value, "__module__", None) == place
            ):
                found[f"{place}.{name}"] = value
    for function, other in sys.modules[RESOURCES].convert_object_map.items():
        if isinstance(function, types.FunctionType):
            found[f"{RESOURCES}.convert_object_map[{function.__name__}]"] = other
    return found


def changed(before, after):
    """Names with a new object, or new in an existing class or table."""
    owners = {name.rpartition(".")[0] for name in before}
    return sorted(
        name
        for name in before.keys() | after.keys()
        if before.get(name, MISSING) is not after.get(name, MISSING)
        and (name in before or name.rpartition(".")[0] in owners or "[" in name)
        and isinstance_of_code(before.get(name, MISSING), after.get(name, MISSING))
    )


def isinstance_of_code(*values):
    """Whether one of them is callable; MindSpore itself changes counters and caches."""
    return any(
        callable(one) or isinstance(one, property) or hasattr(type(one), "__get__")
        for one in values
        if one is not MISSING
    )


class Net(nn.Cell):
    def construct(self, x):
        return ops.relu(ops.sqrt(ops.abs(x * 2.0 + 1.0)))


x = Tensor(np.ones((4, 64), np.float32))
untouched = members()
import custom_ops  # noqa: E402

imported = changed(untouched, members())
before = members()
from custom_ops import Swish  # noqa: E402
from custom_ops.core import primitive  # noqa: E402, F401

Swish()(x)
operators = changed(before, members())

seen = []
"""State during a compilation."""
from mindspore._c_expression import GraphExecutor_  # noqa: E402

compile_of_mindspore = GraphExecutor_.compile


def compile_and_look(self, *args, **kwargs):
    seen.append(members())
    return compile_of_mindspore(self, *args, **kwargs)


GraphExecutor_.compile = compile_and_look
before = members()
import ms_fusion as mf  # noqa: E402
from tests.programs.presets.child import RESULT, answer  # noqa: E402

ms.set_context(mode=ms.PYNATIVE_MODE)
mf.enable()
watching = [name for name in changed(before, members()) if name.endswith("Cell.__call__")]
ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()
preset = changed(before, members())
nn.ReLU()(x)  # the first call ends the watch
between = members()
seen.clear()
Net()(x)
compilation = changed(between, seen[0])
left = changed(between, members())
before = members()
custom_ops.patch(nn.SequentialCell(nn.Dense(8, 8), nn.ReLU()))
patched = changed(before, members())
before = members()
mf.enable(lock=True)
lock = changed(before, members())
RESULT |= {
    "import": imported,
    "operators": operators,
    "preset": preset,
    "watching": watching,
    "compilation": compilation,
    "left": left,
    "patched": patched,
    "lock": lock,
}
answer()
