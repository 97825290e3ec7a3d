"""Gradient of x·min(max(x + 3, 0), 6) / 6.

grad_x = grad_y·(2·x + 3) / 6 between −3 and 3; 0 below, grad_y above.

Shapes: all tensors have the same shape.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsHardSwishGrad", op_mode="static", support_fusion=True)
def hard_swish_grad_compute(x, grad_y, grad_x, kernel_name="hard_swish_grad"):
    """Returns the graph of `hard_swish_grad`."""
    given = words.wide(x)
    slope = dsl.vadds(dsl.vmuls(given, 1.0 / 3.0), 0.5)
    slope = dsl.vcmpsel(given, 3.0, "ge", 1.0, slope)
    slope = dsl.vcmpsel(given, -3.0, "le", 0.0, slope)
    return dsl.cast_to(dsl.vmul(words.wide(grad_y), slope), x.dtype)


@para_check.check_op_params(*params(2, 1))
def hard_swish_grad(x, grad_y, grad_x, kernel_name="hard_swish_grad"):
    """Builds the kernel."""
    build(hard_swish_grad_compute, {"x": x, "grad_y": grad_y}, [grad_x], [], kernel_name)
