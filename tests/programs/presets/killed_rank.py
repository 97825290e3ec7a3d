"""A rank that kills itself during compilation, and its peer: KILLED_RANK PLACE [dies].

Without ``dies`` there is one process.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf

place, dies = Path(sys.argv[1]), len(sys.argv) > 2
if dies:
    from mindspore.communication import get_rank, init

    init()
ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
mf.enable(generator="ms_fusion")


def end():
    log = place / "compiled"
    before = len(log.read_text().splitlines())
    while len(log.read_text().splitlines()) < before + 2:
        time.sleep(0.002)
    (place / "killed").touch()
    os.kill(os.getpid(), signal.SIGKILL)


if dies and get_rank() == 1:
    threading.Thread(target=end, daemon=True).start()


class Net(nn.Cell):
    def construct(self, x):
        y = ops.cumsum(ops.softmax(x * 1.25, -1), 1)
        return ops.exp(ops.cumsum(ops.tanh(y) + 1.0, 1) * 0.1)


x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
y = Net()(Tensor(x)).asnumpy()
(place / "draft").write_text(
    json.dumps([x.tolist(), y.tolist(), os.listdir(place / "cache" / "mindspore")])
)
(place / "draft").replace(place / "result.json")
