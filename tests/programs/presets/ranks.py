"""A rank of a data-parallel training, unfused and fused."""

import json
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.communication import get_rank, init

import ms_fusion as mf
from ms_fusion.kernel_server import build_records
from ms_fusion.mindspore import presets

place = Path(sys.argv[1])
ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
init()
rank = get_rank()
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Dense(32, 64), nn.LayerNorm((64,)), nn.Dense(64, 8)

    def construct(self, x, wanted):
        found = ops.log_softmax(self.second(ops.gelu(self.norm(self.first(x)))), -1)
        return -ops.mean(ops.sum(found * wanted, -1))


def losses():
    random, net = np.random.default_rng(0), Loss()
    for one in net.trainable_params():
        one.set_data(
            Tensor(
                random.standard_normal(one.shape).astype(np.float32) * 0.2
                + (one.name == "norm.gamma")
            )
        )
    random = np.random.default_rng(10 + rank)
    x = Tensor(random.standard_normal((40, 32)).astype(np.float32))
    wanted = Tensor(np.eye(8, dtype=np.float32)[random.integers(0, 8, 40)])
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-2)).set_train()
    found = [float(step(x, wanted).asnumpy()) for _ in range(5)]
    return found, float(sum(np.abs(one.asnumpy()).sum() for one in net.trainable_params()))


result = {"unfused": losses()}
mf.enable()
result["fused"] = losses()
result["built"] = sorted(build_records.read(presets.kernel_directory() / "akg_kernel_meta"))
(place / f"{rank}.json").write_text(json.dumps(result))
