"""Sum of a tensor and a scaled product.

y = input_data + value·x1·x2.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from kernel_building import broadcast_together, build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Addcmul", op_mode="dynamic", support_fusion=True)
def addcmul_compute(input_data, x1, x2, y, value=1.0, kernel_name="addcmul"):
    """Builds the DSL graph of `addcmul` and returns the output tensor."""
    input_data, x1, x2 = broadcast_together(input_data, x1, x2)
    return dsl.vadd(input_data, dsl.vmuls(dsl.vmul(x1, x2), value))


@register_operator("Addcmul")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def addcmul(input_data, x1, x2, y, value=1.0, kernel_name="addcmul"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"input_data": input_data, "x1": x1, "x2": x2},
        ("float16", "float32"),
        lambda input_data, x1, x2: addcmul_compute(input_data, x1, x2, y, value, kernel_name),
        mode="broadcast",
    )
