"""Element-wise minimum.

y = min(x1, x2).

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from kernel_building import broadcast_together, build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Minimum", op_mode="dynamic", support_fusion=True)
def minimum_compute(x1, x2, y, kernel_name="minimum"):
    """Builds the DSL graph of `minimum` and returns the output tensor."""
    x1, x2 = broadcast_together(x1, x2)
    return dsl.vmin(x1, x2)


@register_operator("Minimum")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def minimum(x1, x2, y, kernel_name="minimum"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"x1": x1, "x2": x2},
        ("float16", "float32", "int32"),
        lambda x1, x2: minimum_compute(x1, x2, y, kernel_name),
        mode="broadcast",
    )
