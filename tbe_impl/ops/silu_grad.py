"""Gradient of silu.

dx = dy·s·(1 + x·(1 − s)) where s = 1 / (1 + e^(−x)).

Shapes: all inputs and dx have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("SiluGrad", op_mode="dynamic", support_fusion=True)
def silu_grad_compute(dy, x, dx, kernel_name="silu_grad"):
    """Builds the DSL graph of `silu_grad` and returns the output tensor."""
    sigmoid = dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(x, -1.0)), 1.0))
    rest = dsl.vadds(dsl.vmuls(sigmoid, -1.0), 1.0)
    return dsl.vmul(dy, dsl.vmul(sigmoid, dsl.vadds(dsl.vmul(x, rest), 1.0)))


@register_operator("SiluGrad")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def silu_grad(dy, x, dx, kernel_name="silu_grad"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"dy": dy, "x": x},
        ("float16", "float32"),
        lambda dy, x: silu_grad_compute(dy, x, dx, kernel_name),
        equal=("shape", "dtype"),
    )
