"""Linear interpolation.

y = start + weight·(end − start).

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from kernel_building import broadcast_together, build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Lerp", op_mode="dynamic", support_fusion=True)
def lerp_compute(start, end, weight, y, kernel_name="lerp"):
    """Builds the DSL graph of `lerp` and returns the output tensor."""
    start, end, weight = broadcast_together(start, end, weight)
    return dsl.vadd(start, dsl.vmul(weight, dsl.vsub(end, start)))


@register_operator("Lerp")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def lerp(start, end, weight, y, kernel_name="lerp"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"start": start, "end": end, "weight": weight},
        ("float16", "float32"),
        lambda start, end, weight: lerp_compute(start, end, weight, y, kernel_name),
        mode="broadcast",
    )
