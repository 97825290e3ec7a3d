"""Emits MindSpore code for ONNX ``BitCast``, which reinterprets bits as another dtype."""

from __future__ import annotations

import mindspore
import numpy as np
from mindspore import ops

from ms_fusion.onnx.cell.operator_use import OperatorUse

FIXED_WIDTH_DTYPES = (
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


def bit_cast(use: OperatorUse) -> str:
    """Emits ONNX ``BitCast`` as a NumPy view.

    A NumPy view is used because MindSpore's graph mode has no such operator.
    """
    before, behind = use.value().dtype, use.result().dtype
    if before not in FIXED_WIDTH_DTYPES or behind not in FIXED_WIDTH_DTYPES:
        raise use.refusal(f"bits of {before} as {behind}")
    made = getattr(mindspore, "bool_" if behind == "bool" else behind)
    call = ops.Custom(
        lambda x: np.asarray(x, before).view(behind), lambda shape: shape, lambda _: made, "pyfunc"
    )
    # The input is flattened, because the call would return a scalar as a Python number.
    return (
        f"ops.reshape({use.part('bits', call)}(ops.reshape({use.text()}, (-1,))), "
        f"{use.text()}.shape)"
    )
