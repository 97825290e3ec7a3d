"""Supports level O1 of `ms.amp` for a net that `patch` changed.

For O1, MindSpore rewrites the source of each class in a net. The source does not contain the edits
of `patch`, so a patched net is not rewritten. Instead, the Cells for matrix products, convolutions
and attention are wrapped. A wrapped Cell computes in a narrow precision (float16 or bfloat16), and
the results are cast to float32. For a matrix product that is called as a function, the precision
does not change.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

from custom_ops.core.framework import Cell, ms, nn
from custom_ops.operators.attention import ScaledDotProductAttention
from custom_ops.operators.conv2d import Conv2d
from custom_ops.operators.conv_bn import ConvBN
from custom_ops.operators.matmul_bias import DenseCell
from custom_ops.patching.inlinable_calls import ORIGINAL_CONSTRUCT
from custom_ops.patching.patch_record import forget_graphs
from custom_ops.patching.rules import is_plain
from tbe_impl.errors import InputError

OUR_CELLS = (Conv2d, ConvBN, DenseCell, ScaledDotProductAttention)
"""Fused Cells that compute in the narrow precision, in addition to MindSpore's list of Cells.

These Cells cast their weights to the dtype of their inputs.
"""
REWRITE_FUNCTION = "_auto_mixed_precision_rewrite"
"""Name of the function of `mindspore.train.amp` that rewrites nets."""


class NarrowCell(Cell):
    """Wraps a Cell so that the Cell computes in a narrow precision; the results are float32.

    Args:
        cell: the wrapped Cell. Attributes that the wrapper lacks are read from this Cell.
        dtype: dtype of the narrow precision.
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
        """Casts the inputs, runs the Cell and casts the result to float32."""
        given: Any = ()
        for one in inputs:
            is_wide = isinstance(one, ms.Tensor) and one.dtype == ms.float32
            given = given + (one.astype(self.dtype) if is_wide else one,)  # noqa: RUF005
        return self.cell(*given).astype(ms.float32)


def is_patched(net: Any) -> bool:
    """Whether `patch` edited the `construct` of a Cell in the net."""
    return any(hasattr(type(cell), ORIGINAL_CONSTRUCT) for _, cell in net.cells_and_names())


def cast_cells(net: Any, dtype: Any, kinds: tuple[type, ...]) -> None:
    """Wraps descendant Cells in `NarrowCell`s if their class is in `kinds` or `OUR_CELLS`."""
    for name, cell in net._cells.items():
        if isinstance(cell, OUR_CELLS):
            net._cells[name] = NarrowCell(cell, dtype)
        elif type(cell) in kinds and is_plain(cell):
            net._cells[name] = NarrowCell(cell.to_float(dtype), dtype)
        elif isinstance(cell, Cell) and not isinstance(cell, NarrowCell):
            cast_cells(cell, dtype, kinds)
    if type(net) is nn.SequentialCell:
        net.cell_list = list(net._cells.values())


@cache
def hook_amp() -> None:
    """Patches `ms.amp`: for patched nets, O1 uses `cast_cells` instead of a source rewrite."""
    from mindspore.train import amp

    theirs = getattr(amp, REWRITE_FUNCTION, None)
    if theirs is None:
        return

    @wraps(theirs)
    def rewrite_patched(network: Any, dtype: Any, **lists: Any) -> Any:
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
        cast_cells(network, dtype, kinds)
        forget_graphs(network)
        return network

    setattr(amp, REWRITE_FUNCTION, rewrite_patched)
