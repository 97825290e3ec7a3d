"""Gradient of tanh, computed from the result y of tanh.

z = dy·(1 − y²).

Shapes: all inputs and z have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from kernel_building import build_static
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("TanhGrad", op_mode="static", support_fusion=True)
def tanh_grad_compute(y, dy, z, kernel_name="tanh_grad"):
    """Builds the DSL graph of `tanh_grad` and returns the output tensor."""
    return dsl.vmul(dy, dsl.vadds(dsl.vmuls(dsl.vmul(y, y), -1.0), 1.0))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def tanh_grad(y, dy, z, kernel_name="tanh_grad"):
    """Builds the kernel; the inputs are flattened to one axis."""
    build_static(
        kernel_name,
        {"y": y, "dy": dy},
        ("float16", "float32"),
        lambda y, dy: tanh_grad_compute(y, dy, z, kernel_name),
        equal=("shape", "dtype"),
        flatten=True,
    )
