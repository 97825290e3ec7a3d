"""Gradient of relu.

z = gradients if features > 0, and 0 otherwise.

Shapes: all inputs and z have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from kernel_building import build_dynamic
from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("ReluGrad", op_mode="dynamic", support_fusion=True)
def relu_grad_compute(gradients, features, z, kernel_name="relu_grad"):
    """Builds the DSL graph of `relu_grad` and returns the output tensor."""
    zero = dsl.broadcast(tvm.const(0, features.dtype), features.shape)
    return dsl.vcmpsel(features, zero, "gt", gradients, zero)


@register_operator("ReluGrad")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def relu_grad(gradients, features, z, kernel_name="relu_grad"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"gradients": gradients, "features": features},
        ("float16", "float32"),
        lambda gradients, features: relu_grad_compute(gradients, features, z, kernel_name),
        equal=("shape", "dtype"),
    )
