"""Rectified linear unit.

y = max(x, 0).

Shapes: any; y has the shape of x.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Relu", op_mode="dynamic", support_fusion=True)
def relu_compute(x, y, kernel_name="relu"):
    """Builds the DSL graph of `relu` and returns the output tensor."""
    return dsl.vmaxs(x, 0)


@register_operator("Relu")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def relu(x, y, kernel_name="relu"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"x": x},
        ("float16", "float32", "int32"),
        lambda x: relu_compute(x, y, kernel_name),
    )
