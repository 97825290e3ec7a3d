"""Defines GeGLU, the gated linear unit with GELU."""

from __future__ import annotations

from custom_ops.operators.gated_linear_units import GatedCell, halves_spec, pair_spec
from custom_ops.operators.gelu import composite, formula, gelu, gelu_slope

_ATTRIBUTES = {"approximate": True}
_VARIANTS = ({"approximate": False},)
GEGLU = pair_spec("GeGLU", gelu, gelu_slope, composite, formula, _ATTRIBUTES, _VARIANTS)
GEGLU_HALVES = halves_spec(
    "GeGLUHalves", gelu, gelu_slope, composite, formula, _ATTRIBUTES, _VARIANTS
)


class GeGLU(GatedCell):
    r"""Gated linear unit with GELU.

    .. math::
        y = \mathrm{GELU}(a) \cdot b

    Args:
        approximate: whether to use the tanh formula of GELU instead of erf.
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
        >>> GeGLU().forward(np.float32([100, 0, 2, 3]))
        array([200.,   0.], dtype=float32)
    """

    def __init__(self, approximate: bool = True, route: str = ""):
        super().__init__(GEGLU, GEGLU_HALVES, {"approximate": bool(approximate)}, route)
