"""Piecewise quadratic approximation of swish.

y = x·min(max(x + 3, 0), 6) / 6.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("HardSwish", op_mode="dynamic", support_fusion=True)
def hard_swish_compute(x, y, kernel_name="hard_swish"):
    """Builds the DSL graph of `hard_swish` and returns the output tensor."""
    gate = dsl.vmins(dsl.vmaxs(dsl.vadds(x, 3.0), 0.0), 6.0)
    return dsl.vmuls(dsl.vmul(x, gate), 1.0 / 6.0)


@register_operator("HardSwish")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def hard_swish(x, y, kernel_name="hard_swish"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: hard_swish_compute(x, y, kernel_name),
    )
