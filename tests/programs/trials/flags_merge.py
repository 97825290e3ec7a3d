"""`flags=` and `only_flags=` of enable, fusion, patch and explain; applies a suggestion."""

import mindspore as ms
import numpy as np
from mindspore import nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
QUICK = {"measure": False, "accuracy": False, "isolate": False}
ADDED = "--disable_cluster_ops=Exp"
x = ms.Tensor(np.random.default_rng(0).uniform(0.5, 1.0, (16, 32)).astype(np.float32))


class Net(nn.Cell):
    def construct(self, x):
        return ops.exp(ops.tanh(x * 2.0) + x) * 0.5


def seen(**asked):
    ledger = mf.explain(Net(), x, **QUICK, **asked)
    return {
        "flags": ledger.flags,
        "preset": ledger.preset,
        "kernels": [list(kernel.operators) for kernel in ledger.kernels],
        "warnings": list(ledger.warnings),
        "suggested": sorted({edge.suggestion.flags for edge in ledger.unfused if edge.suggestion}),
    }


RESULT["explain"] = seen(flags=ADDED)
RESULT["explain, preset"] = seen(preset="auto", flags=ADDED)
RESULT["explain, only"] = seen(only_flags="--opt_level=2 --enable_cluster_ops_only=Mul,Add")
RESULT["explain, only without a level"] = seen(only_flags="--enable_cluster_ops=Mul")
RESULT["enable"] = mf.enable(flags=ADDED).flags
RESULT["explain under enable"] = seen()
RESULT["explain under enable, flags"] = seen(flags="--disable_cluster_ops=Tanh")
RESULT["explain under enable, suggestion"] = seen(
    flags=RESULT["explain under enable"]["suggested"][0]
)
mf.disable()
with mf.fusion(flags=ADDED) as now:
    RESULT["fusion"] = now.flags
RESULT["patch"] = presets.in_force(mf.patch(Net(), flags=ADDED)).flags
mf.assert_fused(Net(), (x,), [("Mul", "Tanh")], flags=ADDED)
try:
    mf.explain(Net(), x, flags=ADDED, only_flags="--opt_level=2")
except mf.FusionError as error:
    RESULT["both"] = str(error)

answer()
