"""Gradient of softmax of scaled scores, from its result.

grad_x = scale·y·(grad_y − Σ y·grad_y) over the last axis. y is 0 in fully masked rows.

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


@register_operator_compute("CustomOpsScaleSoftmaxGrad", op_mode="static", support_fusion=True)
def scale_softmax_grad_compute(y, grad_y, grad_x, scale=1.0, kernel_name="scale_softmax_grad"):
    """Returns the graph of `scale_softmax_grad`."""
    found = words.softmax_slope(words.wide(y), words.wide(grad_y))
    return dsl.cast_to(dsl.vmuls(found, scale), y.dtype)


@para_check.check_op_params(*params(2, 1, ("float",)))
def scale_softmax_grad(y, grad_y, grad_x, scale=1.0, kernel_name="scale_softmax_grad"):
    """Builds the kernel."""
    build(scale_softmax_grad_compute, {"y": y, "grad_y": grad_y}, [grad_x], [scale], kernel_name)
