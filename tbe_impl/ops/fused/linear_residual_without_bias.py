"""Matrix product with a transposed weight and a residual, and an activation.

y = activation(x·weightᵀ + residual); the activation is relu, silu, gelu, gelu_tanh, or empty.

Shapes: x (…, I), weight (O, I), residual (…, O), y (…, O).
dtypes: float16 inputs of the cube; summed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

DTYPES = ("float16",)
"""What the cube multiplies."""


@register_operator_compute(
    "CustomOpsLinearResidualWithoutBias", op_mode="static", support_fusion=True
)
def linear_residual_without_bias_compute(
    x, weight, residual, y, activation="", kernel_name="linear_residual_without_bias"
):
    """Returns the graph of `linear_residual_without_bias`."""
    res = dsl.matmul(x, weight, False, True, dst_dtype="float32")
    res = dsl.vadd(res, words.wide(residual))
    return dsl.cast_to(words.activated(res, activation), x.dtype)


@para_check.check_op_params(*params(3, 1, ("str",)))
def linear_residual_without_bias(
    x, weight, residual, y, activation="", kernel_name="linear_residual_without_bias"
):
    """Builds the kernel."""
    *lead, last = x.get("shape")
    rows = math.prod(lead)
    views = {"x": [rows, last], "residual": [rows, weight.get("shape")[0]]}
    build(
        linear_residual_without_bias_compute,
        {"x": x, "weight": weight, "residual": residual},
        [y],
        [activation],
        kernel_name,
        views=views,
        dtypes=dict.fromkeys(("x", "weight", "residual"), DTYPES),
    )
