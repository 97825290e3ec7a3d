"""Sum over axes.

y = Σ x over `axes`.

Shapes: x has at least one axis. Without keep_dims, y lacks the reduced axes;
    after a full reduction y has one element.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks one of `axes`.
"""

from kernel_building import build_reduction
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("ReduceSum", op_mode="dynamic", support_fusion=True)
def reduce_sum_compute(x, y, axes, keep_dims, kernel_name="reduce_sum"):
    """Builds the DSL graph of `reduce_sum` and returns the output tensor."""
    return dsl.reduce_sum(x, axis=axes, keepdims=keep_dims)


@register_operator("ReduceSum")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.REQUIRED_ATTR_INT, para_check.REQUIRED_ATTR_LIST_INT),
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def reduce_sum(x, y, axes, keep_dims=False, kernel_name="reduce_sum"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_reduction(
        kernel_name,
        x,
        ("float16", "float32", "int32"),
        axes,
        keep_dims,
        lambda data, listed: reduce_sum_compute(data, y, listed, keep_dims, kernel_name),
    )
