"""Matrix products added to a total, in float32.

z = total + x·y.

Shapes: x (…, K), y (…, K, D), total and z (…, D). If y has fewer matrices, neighbouring
    matrices of x share one.
dtypes: float16 inputs of the cube; total and z float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused.building import build, in_matrices, params

DTYPES = ("float16",)
"""What the cube multiplies."""


@register_operator_compute("CustomOpsProductAdded", op_mode="static", support_fusion=True)
def product_added_compute(total, x, y, z, kernel_name="product_added"):
    """Returns the graph of `product_added`."""
    return dsl.vadd(total, dsl.matmul(x, y, False, False, dst_dtype="float32"))


@para_check.check_op_params(*params(3, 1))
def product_added(total, x, y, z, kernel_name="product_added"):
    """Builds the kernel."""
    build(
        product_added_compute,
        {"total": total, "x": x, "y": y},
        [z],
        [],
        kernel_name,
        views=in_matrices(y, total=total, x=x, y=y),
        dtypes=dict.fromkeys(("x", "y"), DTYPES) | {"total": ("float32",)},
    )
