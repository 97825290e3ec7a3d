"""Matrix products with a transposed factor, in float32: logits and attention scores.

z = scale·x·yᵀ, or x·yᵀ / √D where `by_width` is set.

Shapes: x (…, D), y (…, K, D), z (…, K). If y has fewer matrices, neighbouring matrices of x
    share one.
dtypes: float16 inputs of the cube; z float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, in_matrices, params

DTYPES = ("float16",)
"""What the cube multiplies."""


@register_operator_compute("CustomOpsProductWithRows", op_mode="static", support_fusion=True)
def product_with_rows_compute(x, y, z, scale=1.0, by_width=False, kernel_name="product_with_rows"):
    """Returns the graph of `product_with_rows`."""
    res = dsl.matmul(x, y, False, True, dst_dtype="float32")
    scale = words.sizes(x)[-1] ** -0.5 if by_width else scale
    return res if scale == 1.0 else dsl.vmuls(res, scale)


@para_check.check_op_params(*params(2, 1, ("float", "bool")))
def product_with_rows(x, y, z, scale=1.0, by_width=False, kernel_name="product_with_rows"):
    """Builds the kernel."""
    build(
        product_with_rows_compute,
        {"x": x, "y": y},
        [z],
        [scale, by_width],
        kernel_name,
        views=in_matrices(y, x=x, y=y),
        dtypes=dict.fromkeys(("x", "y"), DTYPES),
    )
