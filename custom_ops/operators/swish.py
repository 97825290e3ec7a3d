"""Computes Swish, x · sigmoid(beta · x), forward and backward."""

from __future__ import annotations

from typing import Any

from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import check_real
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import clamp, gate_and_complement, promote_dtype, widen_inputs
from tbe_impl import dsl
from tbe_impl.dsl.functions import FUNCTIONS


def swish(x: Any, beta: float = 1.0) -> Any:
    """Returns x·σ(beta·x) in the dtype of x."""
    return dsl.vmul(x, dsl.ext.sigmoid(scale_tensor(x, beta)))


def swish_slope(x: Any, beta: float = 1.0) -> Any:
    """Returns the derivative of Swish: σ(z)·(1 + z·(1 − σ(z))) with z = beta·x.

    The result is 1 for large z, and 0 for large −z.
    """
    z = scale_tensor(x, beta)
    gate, rest = gate_and_complement(dsl.ext.sigmoid, z)
    return dsl.vmul(gate, dsl.vadds(dsl.vmul(clamp(z, 1000.0), rest), 1.0))


def scale_tensor(x: Any, factor: float) -> Any:
    """Returns x·factor."""
    return x if factor == 1 else dsl.vmuls(x, factor)


def compute(x: Any, *, beta: float) -> Any:
    """Computes y = x·σ(beta·x); the result is rounded once, to the output dtype."""
    (a,) = widen_inputs(x)
    return dsl.cast_to(swish(a, beta), promote_dtype(x))


def gradient(x: Any, grad: Any, *, beta: float) -> Any:
    """Returns the gradient of x: grad·σ(z)·(1 + z·(1 − σ(z))) with z = beta·x."""
    a, g = widen_inputs(x, grad)
    return dsl.cast_to(dsl.vmul(g, swish_slope(a, beta)), x.dtype)


def composite(x: Any, beta: float) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.mul(x, ops.sigmoid(ops.mul(x, beta)))


SWISH = OpSpec(
    name="Swish",
    inputs=("x",),
    forward=compute,
    backward=gradient,
    saves=("x",),
    attributes={"beta": 1.0},
    variants=({"beta": 1.5}, {"beta": -0.5}),
    composite=composite,
    formula=lambda x, beta: x * FUNCTIONS["sigmoid"].numpy(beta * x),
    samples=(((4, 8),), ((3, 5, 7),), ((1,),), ((0, 4),), ((),)),
    doc="y = x·σ(beta·x)",
)


class Swish(FusedCell):
    r"""Swish activation; for beta = 1, Swish is nn.SiLU.

    .. math::
        y = x \cdot \sigma(\beta x)

    Args:
        beta: factor of x in the sigmoid.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.

    Outputs:
        Tensor of the shape and dtype of x. NaN propagates. The result for x = −inf is NaN, as in
        the formula.

    Raises:
        InputError: x does not have a floating-point dtype, or beta is not a number.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> Swish(beta=1.5).forward(np.float32([0, np.inf]))
        array([ 0., inf], dtype=float32)
    """

    def __init__(self, beta: float = 1.0, route: str = ""):
        super().__init__(SWISH, {"beta": check_real("Swish", "beta", beta)}, route)
