"""Gaussian error linear unit in its tanh approximation.

y = x / (1 + e^(−2·√(2/π)·(x + 0.044715·x³))).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE


@register_operator_compute("Gelu", op_mode="dynamic", support_fusion=True)
def gelu_compute(x, y, kernel_name="gelu"):
    """Builds the DSL graph of `gelu` and returns the output tensor."""
    cube = dsl.vmul(x, dsl.vmul(x, x))
    inner = dsl.vmuls(dsl.vadd(x, dsl.vmuls(cube, CUBIC)), -SIGMOID_SCALE)
    return dsl.vdiv(x, dsl.vadds(dsl.vexp(inner), 1.0))


@register_operator("Gelu")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def gelu(x, y, kernel_name="gelu"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name, {"x": x}, ("float16", "float32"), lambda x: gelu_compute(x, y, kernel_name)
    )
