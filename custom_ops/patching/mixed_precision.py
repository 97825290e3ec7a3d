"""Level O1 of `ms.amp` for a net that `patch` changed.

There MindSpore writes nets anew from the source of their classes, which does not say what `patch` put in. So a patched net stays
what it is: its Cells of products, convolutions and attention compute in the narrow precision, and what they make is float32
again. Products that are called as functions stay as they are.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

from custom_ops.core.framework import Cell, ms, nn
from custom_ops.operators.attention import ScaledDotProductAttention
from custom_ops.operators.conv2d import Conv2d
from custom_ops.operators.conv_bn import ConvBN
from custom_ops.operators.matmul_bias import DenseCell
from custom_ops.patching.inlinable_calls import AS_WRITTEN
from custom_ops.patching.patch_record import forget_graphs
from custom_ops.patching.rules import is_plain
from tbe_impl.errors import InputError

OURS = (Conv2d, ConvBN, DenseCell, ScaledDotProductAttention)
"""What is narrow besides MindSpore's own list; they bring weights to the dtype of their inputs themselves."""
REWRITES = "_auto_mixed_precision_rewrite"
"""The function of `mindspore.train.amp` that writes nets anew."""


class Narrow(Cell):
    """A Cell in a narrow precision between float32.

    Args:
        cell: that; its attributes are this one's too.
        dtype: the precision.
    """

    def __init__(self, cell: Any, dtype: Any):
        super().__init__(auto_prefix=False)
        self.cell, self.dtype = cell, dtype

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            inner = self.__dict__.get("_cells", {}).get("cell")
            if inner is None:
                raise
            return getattr(inner, name)

    def construct(self, *inputs: Any) -> Any:
        """What the Cell makes."""
        given: Any = ()
        for one in inputs:
            is_wide = isinstance(one, ms.Tensor) and one.dtype == ms.float32
            given = given + (one.astype(self.dtype) if is_wide else one,)  # noqa: RUF005
        return self.cell(*given).astype(ms.float32)


def is_patched(net: Any) -> bool:
    """Whether a Cell of it has another `construct` by `patch`."""
    return any(hasattr(type(cell), AS_WRITTEN) for _, cell in net.cells_and_names())


def narrow(net: Any, dtype: Any, kinds: tuple[type, ...]) -> None:
    """Puts Cells of these kinds, and ours, into a precision."""
    for name, cell in net._cells.items():
        if isinstance(cell, OURS):
            net._cells[name] = Narrow(cell, dtype)
        elif type(cell) in kinds and is_plain(cell):
            net._cells[name] = Narrow(cell.to_float(dtype), dtype)
        elif isinstance(cell, Cell) and not isinstance(cell, Narrow):
            narrow(cell, dtype, kinds)
    if type(net) is nn.SequentialCell:
        net.cell_list = list(net._cells.values())


@cache
def watch() -> None:
    """From now on level O1 of `ms.amp` is this for patched nets; other nets are MindSpore's affair."""
    from mindspore.train import amp

    theirs = getattr(amp, REWRITES, None)
    if theirs is None:
        return

    @wraps(theirs)
    def rewritten(network: Any, dtype: Any, **lists: Any) -> Any:
        if not is_patched(network):
            return theirs(network, dtype, **lists)
        if not lists.get("white_list"):
            raise InputError(
                "ms.amp cannot write a patched net anew",
                place="patch",
                expected="level O1, or O2 and O3 by precisions of Cells",
                remedy="Call ms.amp before patch",
            )
        kinds = tuple(one for one in lists["white_list"] if issubclass(one, Cell))
        narrow(network, dtype, kinds)
        forget_graphs(network)
        return network

    setattr(amp, REWRITES, rewritten)
