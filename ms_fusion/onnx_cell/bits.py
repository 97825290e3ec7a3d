"""The bits of numbers as those of another dtype."""

from __future__ import annotations

import mindspore
import numpy as np
from mindspore import ops

from ms_fusion.onnx_cell.operator_use import Use

SIZED = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "float16",
    "int32",
    "uint32",
    "float32",
    "int64",
    "uint64",
    "float64",
)


def bit_cast(use: Use) -> str:
    """``BitCast``: a view of the array, which MindSpore's graph mode has no operator for."""
    before, behind = use.value().dtype, use.result().dtype
    if before not in SIZED or behind not in SIZED:
        raise use.refused(f"bits of {before} as {behind}")
    made = getattr(mindspore, "bool_" if behind == "bool" else behind)
    call = ops.Custom(
        lambda x: np.asarray(x, before).view(behind), lambda shape: shape, lambda _: made, "pyfunc"
    )
    # a number alone would come back as one of Python
    return f"ops.reshape({use.part('bits', call)}(ops.reshape({use.text()}, (-1,))), {use.text()}.shape)"
