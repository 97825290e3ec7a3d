"""Gradient of a gated linear unit with swish, of the halves of a tensor.

grad_x = (grad_y·b·swish'(a), grad_y·swish(a)), a and b the halves of x in its last axis.

Shapes: x has an even size in its last axis; y has half of it.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsSwiGLUHalvesGrad", op_mode="static", support_fusion=True)
def swiglu_halves_grad_compute(x, grad_y, grad_x, kernel_name="swiglu_halves_grad"):
    """Returns the graph of `swiglu_halves_grad`."""
    first, second = words.halves(words.wide(x))
    grad = words.wide(grad_y)
    by_first = dsl.vmul(dsl.vmul(grad, second), words.swish_slope(first))
    by_second = dsl.vmul(grad, words.swish(first))
    res = dsl.concat([by_first, by_second], len(x.shape) - 1)
    return dsl.cast_to(res, x.dtype)


@para_check.check_op_params(*params(2, 1))
def swiglu_halves_grad(x, grad_y, grad_x, kernel_name="swiglu_halves_grad"):
    """Builds the kernel."""
    build(swiglu_halves_grad_compute, {"x": x, "grad_y": grad_y}, [grad_x], [], kernel_name)
