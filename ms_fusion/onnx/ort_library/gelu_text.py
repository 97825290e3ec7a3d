"""Writes GELU as the C text of a custom operator of ONNX Runtime."""

from __future__ import annotations

import hashlib

from ms_fusion.onnx.ort_library.operator_text import ELEMENT_TYPES, OperatorText, describe_kernel


def write_gelu(rank: int, *, by_tanh: bool, has_bias: bool) -> OperatorText:
    """Writes GELU of a float32 tensor of any shape.

    Args:
        rank: rank of the tensor.
        by_tanh: whether the approximation with tanh is computed.
        has_bias: whether there is a second input: a bias vector, which the kernel first adds to
            each row of the tensor.

    Raises:
        InputError: the rank is above ``AXES_MAX``.
    """
    form = "tanh" if by_tanh else "erf"
    key = f"{form} {rank} {has_bias}"
    name = f"Gelu_{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    last = f"given[{rank - 1}]" if rank else "1"
    sizes = [
        f"sizes[0] = 1, sizes[1] = {last};",
        f"for (int axis = 0; axis < {rank}; axis++) made[axis] = given[axis];",
        f"for (int axis = 0; axis < {rank - 1}; axis++) sizes[0] *= given[axis];",
    ]
    if has_bias:
        sizes.append("if (given[AXES_MAX] != sizes[1]) return 1;")
    bias, result = ("all[1]", "all[2]") if has_bias else ("0", "all[1]")
    run = [
        f"struct gelu g = {{all[0], {bias}, {result}, sizes[0], sizes[1]}};",
        f"share(gelu_by_{form}_task, &g, threads, gelu_tasks(&g));",
        "return 0;",
    ]
    dtype = ELEMENT_TYPES["float32"]
    given = [(dtype, rank), *([(dtype, 1)] if has_bias else [])]
    text = describe_kernel(name, given, [(dtype, rank)], sizes, run)
    return OperatorText(name, '#include "gelu.h"\n' + text)
