"""Gradients of a gated linear unit with swish, of two tensors.

grad_gate = grad_y·up·swish'(gate)
grad_up = grad_y·swish(gate)
Each gradient is summed over the axes along which its input was broadcast.

Shapes: the inputs broadcast to one another.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params


@register_operator_compute("CustomOpsSwiGLUGrad", op_mode="static", support_fusion=True)
def swiglu_grad_compute(gate, up, grad_y, grad_gate, grad_up, kernel_name="swiglu_grad"):
    """Returns the graph of `swiglu_grad`."""
    first, second, grad = words.together(gate, up, grad_y)
    by_gate = dsl.vmul(dsl.vmul(grad, second), words.swish_slope(first))
    by_up = dsl.vmul(grad, words.swish(first))
    return [words.summed(by_gate, gate), words.summed(by_up, up)]


@para_check.check_op_params(*params(3, 2))
def swiglu_grad(gate, up, grad_y, grad_gate, grad_up, kernel_name="swiglu_grad"):
    """Builds the kernel."""
    build(
        swiglu_grad_compute,
        {"gate": gate, "up": up, "grad_y": grad_y},
        [grad_gate, grad_up],
        [],
        kernel_name,
        views=of_one_rank(gate=gate, up=up, grad_y=grad_y),
    )
