"""Writes GELU as the C text of a custom operator of ONNX Runtime."""

from __future__ import annotations

import hashlib

from ms_fusion.onnx.ort_library.operator_text import ELEMENT_TYPES, OperatorText, describe_kernel


def write_gelu(rank: int, *, by_tanh: bool) -> OperatorText:
    """Writes GELU of a float32 tensor of any shape.

    Args:
        rank: rank of the tensor.
        by_tanh: whether the approximation with tanh is computed.

    Raises:
        InputError: the rank is above ``AXES_MAX``.
    """
    form = "tanh" if by_tanh else "erf"
    name = f"Gelu_{hashlib.sha256(f'{form} {rank}'.encode()).hexdigest()[:12]}"
    sizes = [
        "sizes[0] = 1;",
        f"for (int axis = 0; axis < {rank}; axis++) made[axis] = given[axis], "
        "sizes[0] *= given[axis];",
    ]
    run = [
        "struct gelu g = {all[0], all[1], sizes[0]};",
        f"share(gelu_by_{form}_task, &g, threads, (sizes[0] + GELU_BLOCK - 1) / GELU_BLOCK);",
        "return 0;",
    ]
    kind = [(ELEMENT_TYPES["float32"], rank)]
    return OperatorText(name, '#include "gelu.h"\n' + describe_kernel(name, kind, kind, sizes, run))
