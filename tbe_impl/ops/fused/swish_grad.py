"""Gradient of swish.

grad_x = grad_y·σ(z)·(1 + z·(1 − σ(z))), z = beta·x.

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


@register_operator_compute("CustomOpsSwishGrad", op_mode="static", support_fusion=True)
def swish_grad_compute(x, grad_y, grad_x, beta=1.0, kernel_name="swish_grad"):
    """Returns the graph of `swish_grad`."""
    slope = words.swish_slope(words.wide(x), beta)
    return dsl.cast_to(dsl.vmul(words.wide(grad_y), slope), x.dtype)


@para_check.check_op_params(*params(2, 1, ("float",)))
def swish_grad(x, grad_y, grad_x, beta=1.0, kernel_name="swish_grad"):
    """Builds the kernel."""
    build(swish_grad_compute, {"x": x, "grad_y": grad_y}, [grad_x], [beta], kernel_name)
