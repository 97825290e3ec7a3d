"""Nets that `ms.amp` rewrites: it copies their source into a module with this module's imports."""

import mindspore.nn as nn

from custom_ops.core.cell import FusedCell


class Net(nn.Cell):
    """One operator."""

    def __init__(self, spec):
        super().__init__()
        self.op = FusedCell(spec, {})

    def construct(self, *inputs):
        """Forward computation."""
        return self.op(*inputs)


class Wrapper(nn.Cell):
    """A nested Cell."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def construct(self, *inputs):
        """Forward computation."""
        return self.cell(*inputs)


class Functions(nn.Cell):
    """A function in a Cell."""

    def __init__(self, function, keywords):
        super().__init__()
        self.function, self.keywords = function, keywords

    def construct(self, *tensors):
        """Forward computation."""
        return self.function(*tensors, **self.keywords)
