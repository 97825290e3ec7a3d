"""Computes Mish, x · tanh(softplus(x)), forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import promote_dtype, widen_inputs
from tbe_impl import dsl

SATURATION_BOUND = 20.0
"""Value of x above which tanh(softplus(x)) rounds to 1."""


def compute(x: Any) -> Any:
    """Computes y = x·tanh(ln(1 + e^x)); the result is rounded once, to the output dtype."""
    (a,) = widen_inputs(x)
    return dsl.cast_to(dsl.vmul(a, dsl.ext.tanh_softplus(a)), promote_dtype(x))


def gradient(x: Any, grad: Any) -> Any:
    """Returns the gradient of x: grad·(n·(n + 2) + 4·x·w·(w + 1)) / (n + 2)².

    Here w = e^x and n = w·(w + 2). For large x the derivative is set to 1, and for large −x to 0.
    """
    a, g = widen_inputs(x, grad)
    a = dsl.vmaxs(dsl.vmins(a, SATURATION_BOUND), -800.0)
    power = dsl.vexp(a)
    n = dsl.vmul(power, dsl.vadds(power, 2.0))
    two_more = dsl.vadds(n, 2.0)
    rest = dsl.vmul(dsl.vmuls(a, 4.0), dsl.vmul(power, dsl.vadds(power, 1.0)))
    top = dsl.vadd(dsl.vmul(n, two_more), rest)
    slope = dsl.vdiv(top, dsl.vmul(two_more, two_more))
    return dsl.cast_to(dsl.vmul(g, slope), x.dtype)


def composite(x: Any) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.mul(x, ops.tanh(ops.softplus(x)))


def formula(x: Any) -> Any:
    """Computes the reference result with NumPy, in float64."""
    return x * np.tanh(np.logaddexp(x, 0.0))


MISH = OpSpec(
    name="Mish",
    inputs=("x",),
    forward=compute,
    backward=gradient,
    saves=("x",),
    composite=composite,
    formula=formula,
    samples=(((4, 8),), ((3, 5, 7),), ((1,),), ((0, 4),), ((),)),
    doc="y = x·tanh(ln(1 + e^x))",
)


class Mish(FusedCell):
    r"""Mish, a smooth non-monotonic activation; replaces nn.Mish.

    .. math::
        y = x \cdot \tanh(\ln(1 + e^x))

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
        >>> Mish().forward(np.float32([0, 100]))
        array([  0., 100.], dtype=float32)
    """

    def __init__(self, route: str = ""):
        super().__init__(MISH, {}, route)
