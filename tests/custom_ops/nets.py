"""Nets that MindSpore rewrites: it copies their source to a module with the imports of this one."""

import mindspore.nn as nn

from custom_ops.core.cell import FusedCell


class Net(nn.Cell):
    """One operator."""

    def __init__(self, spec):
        super().__init__()
        self.op = FusedCell(spec, {})

    def construct(self, *inputs):
        """It."""
        return self.op(*inputs)


class Wrapper(nn.Cell):
    """A Cell in another."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def construct(self, *inputs):
        """It."""
        return self.cell(*inputs)


class Functions(nn.Cell):
    """A function in a Cell."""

    def __init__(self, function, keywords):
        super().__init__()
        self.function, self.keywords = function, keywords

    def construct(self, *tensors):
        """It."""
        return self.function(*tensors, **self.keywords)
