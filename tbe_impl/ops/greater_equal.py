"""Element-wise comparison x1 ≥ x2.

y = 1 if x1 ≥ x2, and 0 otherwise.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: x1 and x2 float16, float32; y int8.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from kernel_building import build_dynamic, compare
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("GreaterEqual", op_mode="dynamic", support_fusion=True)
def greater_equal_compute(x1, x2, y, kernel_name="greater_equal"):
    """Builds the DSL graph of `greater_equal` and returns the output tensor."""
    return compare(x1, x2, "ge")


@register_operator("GreaterEqual")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def greater_equal(x1, x2, y, kernel_name="greater_equal"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"x1": x1, "x2": x2},
        ("float16", "float32"),
        lambda x1, x2: greater_equal_compute(x1, x2, y, kernel_name),
        mode="broadcast",
    )
