"""Sum of outer products of rows, added to a total in float32: chunks of a weight gradient.

z = total + Σ xᵢ·yᵢᵀ.

Shapes: x (N, O), y (N, I), total and z (O, I).
dtypes: float16 inputs of the cube; total and z float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused.building import build, params

DTYPES = ("float16",)
"""What the cube multiplies."""


@register_operator_compute("CustomOpsProductOfRowsAdded", op_mode="static", support_fusion=True)
def product_of_rows_added_compute(total, x, y, z, kernel_name="product_of_rows_added"):
    """Returns the graph of `product_of_rows_added`."""
    return dsl.vadd(total, dsl.matmul(x, y, True, False, dst_dtype="float32"))


@para_check.check_op_params(*params(3, 1))
def product_of_rows_added(total, x, y, z, kernel_name="product_of_rows_added"):
    """Builds the kernel."""
    build(
        product_of_rows_added_compute,
        {"total": total, "x": x, "y": y},
        [z],
        [],
        kernel_name,
        dtypes=dict.fromkeys(("x", "y"), DTYPES) | {"total": ("float32",)},
    )
