"""Matrix product with a transposed weight, and an activation.

y = activation(x·weightᵀ); the activation is relu, silu, gelu, gelu_tanh, or empty.

Shapes: x (…, I), weight (O, I), y (…, O).
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


@register_operator_compute("CustomOpsMatMul", op_mode="static", support_fusion=True)
def linear_compute(x, weight, y, activation="", kernel_name="linear"):
    """Returns the graph of `linear`."""
    res = dsl.matmul(x, weight, False, True, dst_dtype="float32")
    return dsl.cast_to(words.activated(res, activation), x.dtype)


@para_check.check_op_params(*params(2, 1, ("str",)))
def linear(x, weight, y, activation="", kernel_name="linear"):
    """Builds the kernel."""
    *lead, last = x.get("shape")
    rows = math.prod(lead)
    views = {"x": [rows, last]}
    build(
        linear_compute,
        {"x": x, "weight": weight},
        [y],
        [activation],
        kernel_name,
        views=views,
        dtypes=dict.fromkeys(("x", "weight"), DTYPES),
    )
