"""Computes GELU, x · Φ(x), with the error function or the tanh approximation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import clamp, gate_and_complement, promote_dtype, widen_inputs
from tbe_impl import dsl
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE, SQRT_HALF, TANH_SCALE


def gelu(x: Any, approximate: bool) -> Any:
    """Computes x·Φ(x).

    If `approximate` is true, Φ(x) is replaced by the tanh formula, σ(2√(2/π)·(x + 0.044715·x³)).
    """
    return dsl.vmul(x, dsl.ext.ndtr_tanh(x) if approximate else dsl.ext.ndtr(x))


def gelu_slope(x: Any, approximate: bool) -> Any:
    """Returns the derivative of GELU; the result is exactly 1 for large x, and 0 for large −x."""
    end = clamp(x, 100.0)
    square = dsl.vmul(end, end)
    if approximate:
        gate, rest = gate_and_complement(dsl.ext.ndtr_tanh, x)
        inner = dsl.vmul(
            end,
            dsl.vadds(
                dsl.vmuls(square, 3.0 * CUBIC * SIGMOID_SCALE),
                SIGMOID_SCALE,
            ),
        )
        return dsl.vmul(gate, dsl.vadds(dsl.vmul(inner, rest), 1.0))
    density = dsl.vmuls(dsl.vexp(dsl.vmuls(square, -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
    return dsl.vadd(dsl.ext.ndtr(x), dsl.vmul(end, density))


def compute(x: Any, *, approximate: bool) -> Any:
    """Computes y = x·Φ(x); the result is rounded once, to the output dtype."""
    (a,) = widen_inputs(x)
    return dsl.cast_to(gelu(a, approximate), promote_dtype(x))


def gradient(x: Any, grad: Any, *, approximate: bool) -> Any:
    """Returns the gradient of x: grad times the derivative of GELU."""
    a, g = widen_inputs(x, grad)
    return dsl.cast_to(dsl.vmul(g, gelu_slope(a, approximate)), x.dtype)


def composite(x: Any, approximate: bool) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    if approximate:
        cube = ops.mul(ops.mul(x, x), x)
        inner = ops.mul(ops.add(x, ops.mul(cube, CUBIC)), TANH_SCALE)
        return ops.mul(ops.mul(x, 0.5), ops.add(ops.tanh(inner), 1.0))
    return ops.mul(ops.mul(x, 0.5), ops.add(ops.erf(ops.mul(x, SQRT_HALF)), 1.0))


def formula(x: Any, approximate: bool) -> Any:
    """Computes the reference result with NumPy, in float64."""
    if approximate:
        with np.errstate(over="ignore"):
            return x * FUNCTIONS["sigmoid"].numpy(SIGMOID_SCALE * (x + CUBIC * x**3))
    return x * (0.5 * FUNCTIONS["erfc"].numpy(-x * SQRT_HALF))


GELU_SPEC = OpSpec(
    name="GELU",
    inputs=("x",),
    forward=compute,
    backward=gradient,
    saves=("x",),
    attributes={"approximate": True},
    variants=({"approximate": False},),
    composite=composite,
    formula=formula,
    samples=(((4, 8),), ((3, 5, 7),), ((1,),), ((0, 4),), ((),)),
    doc="y = x·Φ(x)",
)


class GELU(FusedCell):
    r"""Gaussian error linear unit; replaces nn.GELU.

    .. math::
        y = x \cdot \Phi(x) = \frac{x}{2} \left(1 + \mathrm{erf}\frac{x}{\sqrt 2}\right)
        \approx \frac{x}{2} \left(1 + \tanh\left(\sqrt{2 / \pi} (x + 0.044715 x^3)\right)\right)

    Args:
        approximate: whether to use the tanh formula instead of erf.
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
        >>> GELU().forward(np.float32([0, 100]))
        array([  0., 100.], dtype=float32)
    """

    def __init__(self, approximate: bool = True, route: str = ""):
        super().__init__(GELU_SPEC, {"approximate": bool(approximate)}, route)
