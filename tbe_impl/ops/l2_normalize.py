"""Division by the Euclidean norm.

y = x / √max(Σ x², eps); Σ is taken over `axis`.

Shapes: x has at least one axis; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks the axis.
"""

from kernel_building import build_along_axes
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("L2Normalize", op_mode="dynamic", support_fusion=True)
def l2_normalize_compute(x, y, axis, eps=0.0001, kernel_name="l2_normalize"):
    """Builds the DSL graph of `l2_normalize` and returns the output tensor; `axis` is a list."""
    wide = dsl.cast_to(x, "float32")
    total = dsl.reduce_sum(dsl.vmul(wide, wide), axis=axis, keepdims=True)
    length = dsl.broadcast(dsl.vsqrt(dsl.vmaxs(total, eps)), x.shape)
    return dsl.cast_to(dsl.vdiv(wide, length), x.dtype)


@register_operator("L2Normalize")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT),
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def l2_normalize(x, y, axis=-1, eps=0.0001, kernel_name="l2_normalize"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_along_axes(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        axis,
        lambda x, reduced: l2_normalize_compute(x, y, reduced, eps, kernel_name),
    )
