"""Clamping to an interval.

y = min(max(x, low), high).

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from kernel_building import broadcast_together, build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("ClipByValue", op_mode="dynamic", support_fusion=True)
def clip_by_value_compute(x, low, high, y, kernel_name="clip_by_value"):
    """Builds the DSL graph of `clip_by_value` and returns the output tensor."""
    x, low, high = broadcast_together(x, low, high)
    return dsl.vmin(dsl.vmax(x, low), high)


@register_operator("ClipByValue")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def clip_by_value(x, low, high, y, kernel_name="clip_by_value"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"x": x, "low": low, "high": high},
        ("float16", "float32", "int32"),
        lambda x, low, high: clip_by_value_compute(x, low, high, y, kernel_name),
        mode="broadcast",
    )
