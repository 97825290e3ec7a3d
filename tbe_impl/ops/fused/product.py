"""Matrix product: the gradient of x for x·weightᵀ.

y = x·weight.

Shapes: x (…, O), weight (O, I), y (…, I).
dtypes: float16 inputs of the cube; summed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused.building import build, params

DTYPES = ("float16",)
"""What the cube multiplies."""


@register_operator_compute("CustomOpsProduct", op_mode="static", support_fusion=True)
def product_compute(x, weight, y, kernel_name="product"):
    """Returns the graph of `product`."""
    return dsl.cast_to(dsl.matmul(x, weight, False, False, dst_dtype="float32"), x.dtype)


@para_check.check_op_params(*params(2, 1))
def product(x, weight, y, kernel_name="product"):
    """Builds the kernel."""
    *lead, last = x.get("shape")
    build(
        product_compute,
        {"x": x, "weight": weight},
        [y],
        [],
        kernel_name,
        views={"x": [math.prod(lead), last]},
        dtypes=dict.fromkeys(("x", "weight"), DTYPES),
    )
