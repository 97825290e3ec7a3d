"""Computes x · y · sigmoid(y), forward and backward."""

from __future__ import annotations

from typing import Any

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import promote_dtype, unbroadcast, widen_inputs
from custom_ops.operators.swish import swish, swish_slope
from tbe_impl import dsl
from tbe_impl.dsl.functions import FUNCTIONS


def compute(x: Any, y: Any) -> Any:
    """Computes z = x·(y·σ(y)); the result is rounded once, to the output dtype."""
    a, b = widen_inputs(x, y)
    return dsl.cast_to(dsl.vmul(a, swish(b)), promote_dtype(x, y))


def gradient(x: Any, y: Any, grad: Any) -> tuple[Any, Any]:
    """Returns the gradients of x and y.

    The gradient of x is grad·y·σ(y). The gradient of y is grad·x·σ(y)·(1 + y·(1 − σ(y))). If an
    input was broadcast, its gradient is summed over the broadcast axes.
    """
    a, b, g = widen_inputs(x, y, grad)
    return unbroadcast(dsl.vmul(g, swish(b)), x), unbroadcast(
        dsl.vmul(dsl.vmul(g, a), swish_slope(b)), y
    )


def composite(x: Any, y: Any) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.mul(x, ops.mul(y, ops.sigmoid(y)))


MUL_SIGMOID = OpSpec(
    name="MulSigmoid",
    inputs=("x", "y"),
    outputs=("z",),
    forward=compute,
    backward=gradient,
    saves=("x", "y"),
    composite=composite,
    formula=lambda x, y: x * (y * FUNCTIONS["sigmoid"].numpy(y)),
    samples=(
        ((4, 8), (4, 8)),
        ((3, 5, 7), (3, 5, 7)),
        ((5, 6), (6,)),
        ((2, 1, 4), (3, 1)),
        ((1,), (1,)),
        ((0, 4), (0, 4)),
        ((), ()),
    ),
    doc="z = x·y·σ(y)",
)


class MulSigmoid(FusedCell):
    r"""Computes x · SiLU(y).

    .. math::
        z = x \cdot y \cdot \sigma(y)

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **y** (Tensor) - of the same dtypes as x, any shape. x and y are broadcast to one shape
          and promoted to one dtype.

    Outputs:
        Tensor of the broadcast shape and the promoted dtype. NaN propagates. The result for y =
        −inf is NaN, as in the formula.

    Raises:
        InputError: the shapes do not match, or an input does not have a floating-point dtype.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> MulSigmoid().forward(np.float32([3, 2]), np.float32([0, 100]))
        array([  0., 200.], dtype=float32)
    """

    def __init__(self, route: str = ""):
        super().__init__(MUL_SIGMOID, {}, route)
