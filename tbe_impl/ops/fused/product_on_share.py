"""Matrix products added to a scaled total, in float32: sums of streaming softmax.

z = total·share + x·y.

Shapes: x (…, K), y (…, K, D), total and z (…, D), share (…, 1). If y has fewer matrices,
    neighbouring matrices of x share one.
dtypes: float16 inputs of the cube; total, share and z float32.
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


@register_operator_compute("CustomOpsProductOnShare", op_mode="static", support_fusion=True)
def product_on_share_compute(total, share, x, y, z, kernel_name="product_on_share"):
    """Returns the graph of `product_on_share`."""
    left = dsl.vmul(total, words.spread(share, total))
    return dsl.vadd(left, dsl.matmul(x, y, False, False, dst_dtype="float32"))


@para_check.check_op_params(*params(4, 1))
def product_on_share(total, share, x, y, z, kernel_name="product_on_share"):
    """Builds the kernel."""
    build(
        product_on_share_compute,
        {"total": total, "share": share, "x": x, "y": y},
        [z],
        [],
        kernel_name,
        views=in_matrices(y, total=total, share=share, x=x, y=y),
        dtypes=dict.fromkeys(("x", "y"), DTYPES) | dict.fromkeys(("total", "share"), ("float32",)),
    )
