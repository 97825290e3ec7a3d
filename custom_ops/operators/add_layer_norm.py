"""Computes layer normalisation of x + residual; the sum is a second output."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import HALF_DTYPES
from custom_ops.core.row_helpers import broadcast_like, check_shape, mean, sizes, widen
from custom_ops.operators import layer_norm
from tbe_impl import dsl


def compute(
    x: Any,
    residual: Any,
    gamma: Any,
    beta: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
) -> tuple[Any, ...]:
    """Returns four tensors: y, the sum x + residual, and the mean and rstd of the sum.

    The sum is rounded to the dtype of x; mean is the mean of the rounded sum. rstd is
    1 / √(variance + epsilon).
    """
    axes, params = layer_norm.axes_of(x, begin_norm_axis, begin_params_axis)
    check_shape(residual, sizes(x), "AddLayerNorm", "residual", x)
    check_shape(gamma, sizes(x)[params:], "AddLayerNorm", "gamma")
    check_shape(beta, sizes(x)[params:], "AddLayerNorm", "beta", gamma)
    both = dsl.vadd(widen(x), widen(residual, x))
    normal, middle, rstd = layer_norm.normalise(both, axes, epsilon)
    made = dsl.vadd(
        dsl.vmul(normal, broadcast_like(widen(gamma, x), x)), broadcast_like(widen(beta, x), x)
    )
    held = dsl.cast_to(both, x.dtype)
    if x.dtype in HALF_DTYPES:
        middle = mean(widen(held), axes)  # backward subtracts the mean from the rounded sum
    return dsl.cast_to(made, x.dtype), held, middle, rstd


def gradient(
    both: Any,
    gamma: Any,
    middle: Any,
    rstd: Any,
    grad: Any,
    grad_sum: Any,
    *,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    **_: Any,
) -> tuple[Any, Any, Any]:
    """Returns the gradients of x, gamma and beta; the gradient of residual equals that of x."""
    axes, params = layer_norm.axes_of(both, begin_norm_axis, begin_params_axis)
    made = layer_norm.gradients_of(both, gamma, middle, rstd, grad, axes, params)
    of_x = dsl.vadd(made[0], widen(grad_sum))
    return dsl.cast_to(of_x, both.dtype), made[1], made[2]


def composite(
    x: Any,
    residual: Any,
    gamma: Any,
    beta: Any,
    begin_norm_axis: int = -1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-7,
) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    both = ops.add(x, residual)
    axes = (begin_norm_axis, begin_params_axis)
    return layer_norm.composite(both, gamma, beta, axes[0], axes[1], epsilon), both


ADD_LAYER_NORM = OpSpec(
    name="AddLayerNorm",
    inputs=("x", "residual", "gamma", "beta"),
    outputs=("y", "sum", "mean", "rstd"),
    hidden=frozenset({"mean", "rstd"}),
    recompute_hidden=layer_norm.statistics,
    same_gradient={"residual": "x"},
    forward=compute,
    backward=gradient,
    saves=("sum", "gamma", "mean", "rstd"),
    attributes={"begin_norm_axis": -1, "begin_params_axis": -1, "epsilon": 1e-7},
    composite=composite,
    formula=lambda x, residual, gamma, beta, **more: (
        layer_norm.formula(x + residual, gamma, beta, **more),
        x + residual,
    ),
    samples=(
        ((6, 40), (6, 40), (40,), (40,)),
        ((2, 3, 17), (2, 3, 17), (17,), (17,)),
        ((0, 4), (0, 4), (4,), (4,)),
    ),
    nan="row",
    doc="y = LayerNorm(x + residual), and x + residual",
)


class AddLayerNorm(layer_norm.LayerNormCell):
    r"""Layer normalisation of x + residual, with the sum as a second output.

    .. math::
        s = x + r, \quad
        y = \frac{s - \mathrm{E}[s]}{\sqrt{\mathrm{Var}[s] + \epsilon}} \cdot \gamma + \beta

    Args:
        normalized_shape, begin_norm_axis, begin_params_axis, gamma_init, beta_init, epsilon, dtype:
            as for `nn.LayerNorm`.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64.
        - **residual** (Tensor) - :math:`r`, of the shape and dtype of x.

    Outputs:
        Tuple (y, x + residual); both have the shape and dtype of x.

    Raises:
        InputError: an axis is out of range for x, or the shapes of x, residual and the weights do
            not match.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import AddLayerNorm
        >>> y, both = AddLayerNorm((2,)).forward(np.float32([[1, 2]]), np.float32([[0, 1]]))
        >>> both
        array([[1., 3.]], dtype=float32)
    """

    own = ADD_LAYER_NORM

    def construct(self, x: Any, residual: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        return self.run(x, residual, self.gamma, self.beta)


FUNCTION_SPECS = (
    function_of_spec(
        "add_layer_norm",
        ADD_LAYER_NORM,
        """Returns the layer normalisation of x + residual, and the sum x + residual itself.

        See `custom_ops.AddLayerNorm`.

        Args:
            x: float16, bfloat16, float32 or float64.
            residual: tensor of the shape and dtype of x.
            gamma, beta, begin_norm_axis, begin_params_axis, epsilon, route: as in `layer_norm`.

        Returns:
            Tuple of two tensors of the shape and dtype of x.

        Raises:
            InputError: an axis is out of range for x, or a shape does not match that of x.
        """,
    ),
)
