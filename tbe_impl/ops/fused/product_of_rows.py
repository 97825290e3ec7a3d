"""Sum of outer products of rows: the gradient of weight for x·weightᵀ.

z = Σ xᵢ·yᵢᵀ.

Shapes: x (…, O), y (…, I), z (O, I).
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


@register_operator_compute("CustomOpsProductOfRows", op_mode="static", support_fusion=True)
def product_of_rows_compute(x, y, z, kernel_name="product_of_rows"):
    """Returns the graph of `product_of_rows`."""
    return dsl.cast_to(dsl.matmul(x, y, True, False, dst_dtype="float32"), x.dtype)


@para_check.check_op_params(*params(2, 1))
def product_of_rows(x, y, z, kernel_name="product_of_rows"):
    """Builds the kernel."""
    shapes = {"x": x.get("shape"), "y": y.get("shape")}
    build(
        product_of_rows_compute,
        {"x": x, "y": y},
        [z],
        [],
        kernel_name,
        views={name: [math.prod(shape[:-1]), shape[-1]] for name, shape in shapes.items()},
        dtypes=dict.fromkeys(("x", "y"), DTYPES),
    )
