"""Scaled exponential linear unit.

y = 1.0507·x if x > 0, and 1.7581·(e^x − 1) otherwise.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check

ALPHA = 1.6732632423543772
SCALE = 1.0507009873554805


@register_operator_compute("Selu", op_mode="dynamic", support_fusion=True)
def selu_compute(x, y, kernel_name="selu"):
    """Builds the DSL graph of `selu` and returns the output tensor."""
    negative = dsl.vmuls(dsl.vadds(dsl.vexp(dsl.vmins(x, 0.0)), -1.0), SCALE * ALPHA)
    return dsl.vadd(dsl.vmuls(dsl.vmaxs(x, 0.0), SCALE), negative)


@register_operator("Selu")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def selu(x, y, kernel_name="selu"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name, {"x": x}, ("float16", "float32"), lambda x: selu_compute(x, y, kernel_name)
    )
