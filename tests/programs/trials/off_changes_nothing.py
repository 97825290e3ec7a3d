"""Uses every program-changing feature with MS_FUSION=off; prints changes and `tune`'s message."""

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.train import amp

import custom_ops
import ms_fusion as mf


def state(net):
    """Classes and own attributes of a net's Cells, and the replaceable functions of MindSpore."""
    cells = [
        (name, id(cell), type(cell), sorted(vars(cell))) for name, cell in net.cells_and_names()
    ]
    return cells, amp._auto_mixed_precision_rewrite, nn.Cell.compile_phase, nn.BatchNorm2d.construct


net = nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.GELU())
x = ms.Tensor(np.ones((1, 3, 8, 8)), ms.float32)
before, expected = state(net), net(x).asnumpy()
record = custom_ops.patch(net, x)
mf.enable()
mf.patch(net)
with mf.fusion("aggressive"):
    special = mf.specialize(net)
    same = np.array_equal(special(x).asnumpy(), expected)
mf.disable()
print("changed:", state(net) != before, "replaced:", len(record.replaced), "same:", same)
print(record)
record.undo()
print("after undo:", state(net) != before)
try:
    mf.tune(net, x)
except mf.FusionError as error:
    print(error)
