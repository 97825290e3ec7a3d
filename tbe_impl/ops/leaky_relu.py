"""Leaky rectified linear unit.

y = x if x > 0, and negative_slope·x otherwise.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("LeakyRelu", op_mode="dynamic", support_fusion=True)
def leaky_relu_compute(x, y, negative_slope=0.0, kernel_name="leaky_relu"):
    """Builds the DSL graph of `leaky_relu` and returns the output tensor."""
    positive, negative = dsl.vmaxs(x, 0.0), dsl.vmins(x, 0.0)
    return dsl.vadd(positive, dsl.vmuls(negative, negative_slope))


@register_operator("LeakyRelu")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def leaky_relu(x, y, negative_slope=0.0, kernel_name="leaky_relu"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: leaky_relu_compute(x, y, negative_slope, kernel_name),
    )
