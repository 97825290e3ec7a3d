"""Sign.

y = −1 if x < 0, 1 if x > 0, and 0 otherwise.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_dynamic
from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Sign", op_mode="dynamic", support_fusion=True)
def sign_compute(x, y, kernel_name="sign"):
    """Builds the DSL graph of `sign` and returns the output tensor."""
    zero = dsl.broadcast(tvm.const(0, x.dtype), x.shape)
    one = dsl.broadcast(tvm.const(1, x.dtype), x.shape)
    minus_one = dsl.broadcast(tvm.const(-1, x.dtype), x.shape)
    not_positive = dsl.vcmpsel(x, zero, "lt", minus_one, zero)
    return dsl.vcmpsel(x, zero, "gt", one, not_positive)


@register_operator("Sign")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def sign(x, y, kernel_name="sign"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name, {"x": x}, ("float16", "float32"), lambda x: sign_compute(x, y, kernel_name)
    )
