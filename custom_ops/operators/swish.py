"""x · sigmoid(beta · x)."""

from __future__ import annotations

from typing import Any

from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import real
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import gate_and_rest, limited, promoted, wide
from tbe_impl import dsl
from tbe_impl.dsl.functions import FUNCTIONS


def swish(x: Any, beta: float = 1.0) -> Any:
    """x·σ(beta·x) in the dtype of x."""
    return dsl.vmul(x, dsl.ext.sigmoid(scaled(x, beta)))


def swish_slope(x: Any, beta: float = 1.0) -> Any:
    """σ(z)·(1 + z·(1 − σ(z))), z = beta·x; 1 and 0 at its ends."""
    z = scaled(x, beta)
    gate, rest = gate_and_rest(dsl.ext.sigmoid, z)
    return dsl.vmul(gate, dsl.vadds(dsl.vmul(limited(z, 1000.0), rest), 1.0))


def scaled(x: Any, factor: float) -> Any:
    """x·factor."""
    return x if factor == 1 else dsl.vmuls(x, factor)


def compute(x: Any, *, beta: float) -> Any:
    """y = x·σ(beta·x), rounded once."""
    (a,) = wide(x)
    return dsl.cast_to(swish(a, beta), promoted(x))


def gradient(x: Any, grad: Any, *, beta: float) -> Any:
    """grad·σ(z)·(1 + z·(1 − σ(z))), z = beta·x."""
    a, g = wide(x, grad)
    return dsl.cast_to(dsl.vmul(g, swish_slope(a, beta)), x.dtype)


def composite(x: Any, beta: float) -> Any:
    """The same from basic operators of MindSpore."""
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
    tbe="swish",
    tbe_gradient="fused/swish_grad",
    doc="y = x·σ(beta·x)",
)


class Swish(FusedCell):
    r"""A tensor gated by its own sigmoid: nn.SiLU with a factor.

    .. math::
        y = x \cdot \sigma(\beta x)

    Args:
        beta: the factor.
        route: ``native`` or ``composite``.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.

    Outputs:
        Tensor of that shape and dtype. NaN propagates; −inf gives NaN, as the formula has it.

    Raises:
        InputError: the input has no floating dtype, or beta is no number.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> Swish(beta=1.5).forward(np.float32([0, np.inf]))
        array([ 0., inf], dtype=float32)
    """

    def __init__(self, beta: float = 1.0, route: str = ""):
        super().__init__(SWISH, {"beta": real("Swish", "beta", beta)}, route)
