"""Element-wise comparison x1 < x2.

y = 1 if x1 < x2, and 0 otherwise.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: x1 and x2 float16, float32; y int8.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from kernel_building import build_dynamic, compare
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Less", op_mode="dynamic", support_fusion=True)
def less_compute(x1, x2, y, kernel_name="less"):
    """Builds the DSL graph of `less` and returns the output tensor."""
    return compare(x1, x2, "lt")


@register_operator("Less")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def less(x1, x2, y, kernel_name="less"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"x1": x1, "x2": x2},
        ("float16", "float32"),
        lambda x1, x2: less_compute(x1, x2, y, kernel_name),
        mode="broadcast",
    )
