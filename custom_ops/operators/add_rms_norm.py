"""Computes RMS normalisation of x + residual; the sum is a second output."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import check_shape, sizes, widen
from custom_ops.operators import rms_norm
from tbe_impl import dsl


def compute(x: Any, residual: Any, gamma: Any, *, epsilon: float = 1e-6) -> tuple[Any, Any, Any]:
    """Returns three tensors: y, s = x + residual, and rstd = 1 / √(mean s² + epsilon)."""
    axes = rms_norm.axes_of(x, gamma, "AddRMSNorm")
    check_shape(residual, sizes(x), "AddRMSNorm", "residual", x)
    both = dsl.vadd(widen(x), widen(residual, x))
    made, rstd = rms_norm.scale(both, gamma, axes, epsilon)
    return dsl.cast_to(made, x.dtype), dsl.cast_to(both, x.dtype), rstd


def gradient(
    both: Any, gamma: Any, rstd: Any, grad: Any, grad_sum: Any, **_: Any
) -> tuple[Any, Any]:
    """Returns the gradients of x and gamma; the gradient of residual equals that of x."""
    of_x, of_gamma = rms_norm.gradients_of(both, gamma, rstd, grad, rms_norm.axes_of(both, gamma))
    return dsl.cast_to(dsl.vadd(of_x, widen(grad_sum)), both.dtype), of_gamma


def composite(x: Any, residual: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    both = ops.add(x, residual)
    return rms_norm.composite(both, gamma, epsilon), both


ADD_RMS_NORM = OpSpec(
    name="AddRMSNorm",
    inputs=("x", "residual", "gamma"),
    outputs=("y", "sum", "rstd"),
    hidden=frozenset({"rstd"}),
    recompute_hidden=rms_norm.RMS_NORM.recompute_hidden,
    same_gradient={"residual": "x"},
    forward=compute,
    backward=gradient,
    saves=("sum", "gamma", "rstd"),
    attributes={"epsilon": 1e-6},
    composite=composite,
    formula=lambda x, residual, gamma, **more: (
        rms_norm.formula(x + residual, gamma, **more),
        x + residual,
    ),
    samples=(((6, 40), (6, 40), (40,)), ((2, 3, 17), (2, 3, 17), (17,)), ((0, 4), (0, 4), (4,))),
    nan="row",
    doc="y = RMSNorm(x + residual), and x + residual",
)


class AddRMSNorm(rms_norm.RMSNormCell):
    r"""RMS normalisation of x + residual, with the sum as a second output.

    .. math::
        s = x + r, \quad y = \frac{s}{\sqrt{\mathrm{E}[s^2] + \epsilon}} \cdot \gamma

    Args:
        normalized_shape, epsilon, gamma_init, dtype: as for `RMSNorm`.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64; its last axes have the shape
          `normalized_shape`.
        - **residual** (Tensor) - :math:`r`, of the shape and dtype of x.

    Outputs:
        Tuple (y, x + residual); both have the shape and dtype of x.

    Raises:
        InputError: the shapes of the inputs and weights do not match.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import AddRMSNorm
        >>> y, both = AddRMSNorm(2).forward(np.float32([[1, 2]]), np.float32([[0, 1]]))
        >>> both
        array([[1., 3.]], dtype=float32)
    """

    own = ADD_RMS_NORM

    def construct(self, x: Any, residual: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        return self.run(x, residual, self.gamma)


FUNCTION_SPECS = (
    function_of_spec(
        "add_rms_norm",
        ADD_RMS_NORM,
        """Returns the RMS normalisation of x + residual, and the sum x + residual itself.

        See `custom_ops.AddRMSNorm`.

        Args:
            x: float16, bfloat16, float32 or float64.
            residual: tensor of the shape and dtype of x.
            gamma, epsilon, route: as in `rms_norm`.

        Returns:
            Tuple of two tensors of the shape and dtype of x.

        Raises:
            InputError: the shapes of x, residual and gamma do not match.
        """,
    ),
)
