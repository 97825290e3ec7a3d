"""A training step (cold: also unfused) and the loaded modules here and in the compile server.

WARM_START cold|warm.
"""

import os
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(3, 8, 3, pad_mode="pad", padding=1)
        self.pool, self.dense = nn.MaxPool2d(2, 2), nn.Dense(8 * 8 * 8, 10)

    def construct(self, x):
        found = self.pool(ops.relu(self.filter(x)))
        return -ops.mean(ops.log_softmax(self.dense(ops.reshape(found, (4, -1))), -1)[:, 0])


def losses():
    random, net = np.random.default_rng(0), Loss()
    for one in net.trainable_params():
        one.set_data(Tensor(random.standard_normal(one.shape).astype(np.float32) * 0.1))
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-2)).set_train()
    x = Tensor(random.standard_normal((4, 3, 16, 16)).astype(np.float32))
    return [float(step(x).asnumpy()) for _ in range(3)]


def servers():
    """Loaded modules of this process's compile servers."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
            if (
                int(parent) == os.getpid()
                and b"kernel_build_server" in (place / "cmdline").read_bytes()
            ):
                found.append((place / "maps").read_text())
        except OSError:
            continue
    return found


if sys.argv[2] == "cold":
    RESULT["unfused"] = losses()
RESULT["generator"] = mf.enable().generator
RESULT["to enable"] = [
    name
    for name in (
        "ms_fusion.graph",
        "ms_fusion.mindspore.flags.lint",
        "ms_fusion.target",
        "ms_fusion.mindspore.presets.compile_context",
        "ms_fusion.mindspore.presets.net_checks",
    )
    if name in sys.modules
]
RESULT["fused"] = losses()
from ms_fusion.kernel_server import build_records  # noqa: E402 - enabling must not need it

built = build_records.read(presets.kernel_directory() / "akg_kernel_meta")
RESULT["cached"] = [one.cached for one in built.values()]
RESULT["steps"] = sorted(
    [name, step.by, *step.operators] for name, one in built.items() for step in one.steps
)
RESULT["server"] = ["numpy" in maps for maps in servers()]
RESULT["own"] = [
    name
    for name in ("tbe_impl.dsl", "tbe_impl.compat", "ms_fusion.kernel_server.host_preparation")
    if name in sys.modules
]

answer()
