"""Prints the errors of operators called without a tensor, in a graph or in `ms.jit`.

The test replaces ``CALLABLE_MODULES`` before it runs this file.
"""

import sys

import mindspore as ms
import numpy as np

import custom_ops
from custom_ops import functional  # noqa: F401

array, swish = np.ones((2, 3), np.float32), custom_ops.Swish()


class Net(ms.nn.Cell):
    """One of the calls."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def construct(self, v):
        """The call's result."""
        return self.call(v)


CALLS = ()

in_graph = sys.argv[1] == "graph"
ms.set_context(mode=ms.GRAPH_MODE if in_graph else ms.PYNATIVE_MODE)
for call in CALLS:
    try:
        (Net(call) if in_graph else ms.jit(call))(ms.Tensor(array))
    except Exception as error:  # noqa: BLE001 - whatever is said
        print(type(error).__name__, error)
    else:
        print("nothing was said")
