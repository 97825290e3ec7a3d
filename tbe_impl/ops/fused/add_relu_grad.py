"""Gradient of relu(x + y) as a function of its result.

grad_x = grad_z where z > 0, else 0. y has the gradient of x.

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


@register_operator_compute("CustomOpsAddReLUGrad", op_mode="static", support_fusion=True)
def add_relu_grad_compute(z, grad_z, grad_x, kernel_name="add_relu_grad"):
    """Returns the graph of `add_relu_grad`."""
    res = dsl.vcmpsel(words.wide(z), 0.0, "gt", words.wide(grad_z), 0.0)
    return dsl.cast_to(res, z.dtype)


@para_check.check_op_params(*params(2, 1))
def add_relu_grad(z, grad_z, grad_x, kernel_name="add_relu_grad"):
    """Builds the kernel."""
    build(add_relu_grad_compute, {"z": z, "grad_z": grad_z}, [grad_x], [], kernel_name)
