"""Computes hard swish, x · min(max(x + 3, 0), 6) / 6."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import promote_dtype, widen_inputs
from tbe_impl import dsl
from tbe_impl.dsl.expr import const


def compute(x: Any) -> Any:
    """Computes y = x·(min(max(x + 3, 0), 6) / 6); this order of operations cannot overflow."""
    (a,) = widen_inputs(x)
    gate = dsl.vmins(dsl.vmaxs(dsl.vadds(a, 3.0), 0.0), 6.0)
    six = dsl.broadcast(const(6.0, a.dtype), a.shape)
    return dsl.cast_to(dsl.vmul(a, dsl.vdiv(gate, six)), promote_dtype(x))


def gradient(x: Any, grad: Any) -> Any:
    """Returns the gradient of x.

    The gradient is 0 for x ≤ −3, grad·(2x + 3) / 6 for −3 < x < 3, and grad for x ≥ 3.
    """
    a, g = widen_inputs(x, grad)
    slope = dsl.vadds(dsl.vmuls(a, 1.0 / 3.0), 0.5)
    slope = dsl.vcmpsel(a, -3.0, "le", 0.0, dsl.vcmpsel(a, 3.0, "ge", 1.0, slope))
    return dsl.cast_to(dsl.vmul(g, slope), x.dtype)


def composite(x: Any) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.mul(x, ops.mul(ops.relu6(ops.add(x, 3.0)), 1.0 / 6.0))


HARD_SWISH = OpSpec(
    name="HardSwish",
    inputs=("x",),
    forward=compute,
    backward=gradient,
    saves=("x",),
    composite=composite,
    formula=lambda x: x * (np.minimum(np.maximum(x + 3.0, 0.0), 6.0) / 6.0),
    samples=(((4, 8),), ((3, 5, 7),), ((1,),), ((0, 4),), ((),)),
    doc="y = x·min(max(x + 3, 0), 6) / 6",
)


class HardSwish(FusedCell):
    r"""Piecewise approximation of Swish; replaces nn.HSwish.

    .. math::
        y = x \cdot \min(\max(x + 3, 0), 6) / 6

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates. The result for x = −inf is NaN, as in
        the formula.

    Raises:
        InputError: x does not have a floating-point dtype.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> HardSwish().forward(np.float32([-4, 3]))
        array([-0.,  3.], dtype=float32)
    """

    def __init__(self, route: str = ""):
        super().__init__(HARD_SWISH, {}, route)
