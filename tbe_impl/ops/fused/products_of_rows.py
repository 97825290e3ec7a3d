"""Sums of outer products of rows per matrix: gradients of keys and values.

z = Σ xᵢ·yᵢᵀ over the rows of the matrices that share a matrix of `like`.
`like` has as many matrices, or neighbouring matrices share one.

Shapes: x (…, K), y (…, D), like and z (…, K, D). Only the shape of like is read.
dtypes: float16 inputs of the cube; summed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused.building import build, in_matrices, params

DTYPES = ("float16",)
"""What the cube multiplies."""


@register_operator_compute("CustomOpsProductsOfRows", op_mode="static", support_fusion=True)
def products_of_rows_compute(x, y, like, z, kernel_name="products_of_rows"):
    """Returns the graph of `products_of_rows`."""
    return dsl.cast_to(dsl.matmul(x, y, True, False, dst_dtype="float32"), x.dtype)


@para_check.check_op_params(*params(3, 1))
def products_of_rows(x, y, like, z, kernel_name="products_of_rows"):
    """Builds the kernel."""
    build(
        products_of_rows_compute,
        {"x": x, "y": y, "like": like},
        [z],
        [],
        kernel_name,
        views=in_matrices(like, x=x, y=y, like=like),
        dtypes=dict.fromkeys(("x", "y", "like"), DTYPES),
    )
