"""Computes relu(x + y)."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import check_shape, sizes
from tbe_impl import dsl


def compute(x: Any, y: Any) -> Any:
    """Computes z = max(x + y, 0)."""
    check_shape(y, sizes(x), "AddReLU", "y", x)
    return dsl.vrelu(dsl.vadd(x, y))


def gradient(z: Any, grad: Any) -> Any:
    """Returns the gradient of x, which is also the gradient of y.

    The gradient is grad where z > 0, and 0 elsewhere.
    """
    return dsl.vcmpsel(z, 0.0, "gt", grad, 0.0)


def composite(x: Any, y: Any) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.relu(ops.add(x, y))


ADD_RELU = OpSpec(
    name="AddReLU",
    inputs=("x", "y"),
    outputs=("z",),
    forward=compute,
    backward=gradient,
    saves=("z",),
    same_gradient={"y": "x"},
    composite=composite,
    formula=lambda x, y: np.maximum(x + y, 0.0),
    samples=(((4, 8), (4, 8)), ((3, 5, 7), (3, 5, 7)), ((1,), (1,)), ((0, 4), (0, 4)), ((), ())),
    doc="z = max(x + y, 0)",
)


class AddReLU(FusedCell):
    r"""ReLU of a sum.

    .. math::
        z = \max(x + y, 0)

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **y** (Tensor) - of the shape and dtype of x. y is not broadcast, because backward has
          only z, and z does not determine the original shape of a broadcast y.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates.

    Raises:
        InputError: the shapes or dtypes differ.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> AddReLU().forward(np.float32([1, -2]), np.float32([1, 1]))
        array([2., 0.], dtype=float32)
    """

    def __init__(self, route: str = ""):
        super().__init__(ADD_RELU, {}, route)
