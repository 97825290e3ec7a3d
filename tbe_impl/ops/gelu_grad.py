"""Gradient of gelu in its tanh approximation.

dx = dy·(s + x·s·(1 − s)·2c·(1 + 3·0.044715·x²))
where s = 1 / (1 + e^(−2c(x + 0.044715·x³))) and c = √(2/π).

Shapes: all inputs and dx have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE


@register_operator_compute("GeluGrad", op_mode="dynamic", support_fusion=True)
def gelu_grad_compute(dy, x, dx, kernel_name="gelu_grad"):
    """Builds the DSL graph of `gelu_grad` and returns the output tensor."""
    square = dsl.vmul(x, x)
    inner = dsl.vmul(x, dsl.vadds(dsl.vmuls(square, CUBIC), 1.0))
    gate = dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(inner, -SIGMOID_SCALE)), 1.0))
    slope = dsl.vmuls(dsl.vadds(dsl.vmuls(square, 3 * CUBIC), 1.0), SIGMOID_SCALE)
    rest = dsl.vmul(dsl.vmul(x, gate), dsl.vmul(dsl.vadds(dsl.vmuls(gate, -1.0), 1.0), slope))
    return dsl.vmul(dy, dsl.vadd(gate, rest))


@register_operator("GeluGrad")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def gelu_grad(dy, x, dx, kernel_name="gelu_grad"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"dy": dy, "x": x},
        ("float16", "float32"),
        lambda dy, x: gelu_grad_compute(dy, x, dx, kernel_name),
        equal=("shape", "dtype"),
    )
