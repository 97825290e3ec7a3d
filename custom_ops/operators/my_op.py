"""Computes (x − y) · x, forward and backward."""

from __future__ import annotations

from typing import Any

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import promote_dtype, unbroadcast, widen_inputs
from tbe_impl import dsl


def compute(x: Any, y: Any) -> Any:
    """Computes z = (x − y)·x."""
    a, b = widen_inputs(x, y)
    return dsl.cast_to(dsl.vmul(dsl.vsub(a, b), a), promote_dtype(x, y))


def gradient(x: Any, y: Any, grad: Any) -> tuple[Any, Any]:
    """Returns the gradients of x and y.

    The gradient of x is grad·(2x − y). The gradient of y is −grad·x. If an input was broadcast, its
    gradient is summed over the broadcast axes.
    """
    a, b, g = widen_inputs(x, y, grad)
    first = dsl.vmul(g, dsl.vsub(dsl.vadd(a, a), b))
    return unbroadcast(first, x), unbroadcast(dsl.vmuls(dsl.vmul(g, a), -1.0), y)


def composite(x: Any, y: Any) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.mul(ops.sub(x, y), x)


MY_OP = OpSpec(
    name="MyOp",
    inputs=("x", "y"),
    outputs=("z",),
    forward=compute,
    backward=gradient,
    saves=("x", "y"),
    composite=composite,
    formula=lambda x, y: (x - y) * x,
    samples=(
        ((4, 8), (4, 8)),
        ((3, 5, 7), (3, 5, 7)),
        ((5, 6), (6,)),
        ((2, 1, 4), (3, 1)),
        ((1,), (1,)),
        ((0, 4), (0, 4)),
        ((), ()),
    ),
    doc="z = (x − y)·x",
)


class MyOp(FusedCell):
    r"""Multiplies the difference x − y by x.

    .. math::
        z = (x - y) \cdot x

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **y** (Tensor) - of the same dtypes as x, any shape. x and y are broadcast to one shape
          and promoted to one dtype.

    Outputs:
        Tensor of the broadcast shape and the promoted dtype. NaN propagates.

    Raises:
        InputError: the shapes do not match, or an input does not have a floating-point dtype.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> MyOp().forward(np.float32([3, 1]), np.float32([1, 2]))
        array([ 6., -1.], dtype=float32)
    """

    def __init__(self, route: str = ""):
        super().__init__(MY_OP, {}, route)
