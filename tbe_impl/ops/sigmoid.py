"""Logistic function.

y = 1 / (1 + e^(−x)).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Sigmoid", op_mode="dynamic", support_fusion=True)
def sigmoid_compute(x, y, kernel_name="sigmoid"):
    """Builds the DSL graph of `sigmoid` and returns the output tensor."""
    return dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(x, -1.0)), 1.0))


@register_operator("Sigmoid")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def sigmoid(x, y, kernel_name="sigmoid"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name, {"x": x}, ("float16", "float32"), lambda x: sigmoid_compute(x, y, kernel_name)
    )
