"""Defines SwiGLU, the gated linear unit with Swish."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import ops
from custom_ops.operators.gated_linear_units import GatedCell, halves_spec, pair_spec
from custom_ops.operators.swish import swish, swish_slope
from tbe_impl.dsl.functions import FUNCTIONS


def composite(x: Any) -> Any:
    """Computes Swish with MindSpore's basic operators."""
    return ops.mul(x, ops.sigmoid(x))


def formula(x: Any) -> Any:
    """Computes Swish with NumPy, in float64."""
    return x * FUNCTIONS["sigmoid"].numpy(x)


SWIGLU = pair_spec("SwiGLU", swish, swish_slope, composite, formula, {})
SWIGLU_HALVES = halves_spec("SwiGLUHalves", swish, swish_slope, composite, formula, {})


class SwiGLU(GatedCell):
    r"""Gated linear unit with Swish; replaces ops.swiglu.

    .. math::
        y = a \cdot \sigma(a) \cdot b

    Args:
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64. If `up` is given, x is :math:`a`,
          the input of the activation. Otherwise the first half of x along the last axis is
          :math:`a`, and the second half is :math:`b`.
        - **up** (Tensor, optional) - the factor :math:`b`. x and up are broadcast to one shape and
          promoted to one dtype.

    Outputs:
        Tensor y. If `up` is given, y has the broadcast shape. Otherwise y has the shape of x with
        half the size of the last axis. NaN propagates. The result for a = −inf is NaN, as in the
        formula.

    Raises:
        InputError: the shapes do not match, the last axis has odd size, or an input does not have a
            floating-point dtype.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> SwiGLU().forward(np.float32([100, 0, 2, 3]))
        array([200.,   0.], dtype=float32)
        >>> SwiGLU().forward(np.float32([100, 0]), np.float32([2, 3]))
        array([200.,   0.], dtype=float32)
    """

    def __init__(self, route: str = ""):
        super().__init__(SWIGLU, SWIGLU_HALVES, {}, route)
