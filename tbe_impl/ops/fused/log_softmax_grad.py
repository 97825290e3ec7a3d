"""Gradient of log softmax as a function of its result.

grad_x = grad_y − e^y·Σ grad_y, over `axis`.

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


@register_operator_compute("CustomOpsLogSoftmaxGrad", op_mode="static", support_fusion=True)
def log_softmax_grad_compute(y, grad_y, grad_x, axis=-1, kernel_name="log_softmax_grad"):
    """Returns the graph of `log_softmax_grad`."""
    grad = words.wide(grad_y)
    share = words.spread(words.total(grad, [axis % len(y.shape)]), y)
    res = dsl.vsub(grad, dsl.vmul(dsl.vexp(words.wide(y)), share))
    return dsl.cast_to(res, y.dtype)


@para_check.check_op_params(*params(2, 1, ("int",)))
def log_softmax_grad(y, grad_y, grad_x, axis=-1, kernel_name="log_softmax_grad"):
    """Builds the kernel."""
    build(log_softmax_grad_compute, {"y": y, "grad_y": grad_y}, [grad_x], [axis], kernel_name)
