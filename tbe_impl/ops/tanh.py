"""Hyperbolic tangent.

y = sign(x)·(1 − e^(−2|x|)) / (1 + e^(−2|x|)).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check

TINY = 2.0**-24


@register_operator_compute("Tanh", op_mode="dynamic", support_fusion=True)
def tanh_compute(x, y, kernel_name="tanh"):
    """Builds the DSL graph of `tanh` and returns the output tensor."""
    power = dsl.vexp(dsl.vmuls(dsl.vabs(x), -2.0))
    size = dsl.vdiv(dsl.vadds(dsl.vmuls(power, -1.0), 1.0), dsl.vadds(power, 1.0))
    return dsl.vmul(size, dsl.vdiv(x, dsl.vadds(dsl.vabs(x), TINY)))


@register_operator("Tanh")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def tanh(x, y, kernel_name="tanh"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name, {"x": x}, ("float16", "float32"), lambda x: tanh_compute(x, y, kernel_name)
    )
