"""Gradient of the Gaussian error linear unit.

grad_x = grad_y·(x·Φ(x))'; `approximate` selects the derivative of the tanh approximation.

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


@register_operator_compute("CustomOpsGELUGrad", op_mode="static", support_fusion=True)
def gelu_grad_compute(x, grad_y, grad_x, approximate=True, kernel_name="gelu_grad"):
    """Returns the graph of `gelu_grad`."""
    slope = words.gelu_slope(words.wide(x), approximate)
    return dsl.cast_to(dsl.vmul(words.wide(grad_y), slope), x.dtype)


@para_check.check_op_params(*params(2, 1, ("bool",)))
def gelu_grad(x, grad_y, grad_x, approximate=True, kernel_name="gelu_grad"):
    """Builds the kernel."""
    build(gelu_grad_compute, {"x": x, "grad_y": grad_y}, [grad_x], [approximate], kernel_name)
