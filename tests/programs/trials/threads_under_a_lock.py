"""Four threads call compiled nets in the named way: results equal those of one thread."""

import sys
import threading

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer

THREADS, CALLS = 4, 30
_, _, way, preset, mode = sys.argv
ms.set_context(mode=int(mode))


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm((64,)), nn.Dense(64, 256), nn.Dense(256, 64)

    def construct(self, x):
        y = self.up(self.norm(x))
        return ops.softmax(x + self.down(ops.gelu(y)), -1)


class Jitted(Block):
    @ms.jit
    def construct(self, x):
        y = self.up(self.norm(x))
        return ops.softmax(x + self.down(ops.gelu(y)), -1)


if preset:
    mf.enable(preset, lock=way in ("lock", "jit"))
rng = np.random.default_rng(0)
# the threads compile one set of shapes
given = [
    [Tensor(rng.standard_normal((4, rows, 64)), ms.float32) for rows in (8, 16, 24)]
    for _ in range(THREADS)
]
nets = [(Jitted if way == "jit" else Block)().set_train(False) for _ in range(2)]
called = [mf.specialize(net) if way == "specialize" else net for net in nets]
wanted = [[[net(x).asnumpy() for x in each[:2]] for each in given] for net in nets]
wrong = []


def work(number):
    try:
        for call in range(CALLS):
            which, rows = call % 2, (number + call) % 3
            found = called[which](given[number][rows]).asnumpy()
            if rows < 2 and not np.array_equal(found, wanted[which][number][rows]):
                wrong.append([number, call])
    except Exception as error:  # noqa: BLE001 - whatever comes of it
        wrong.append([number, repr(error)[:200]])


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
RESULT["wrong"] = wrong

answer()
