"""Gradients of x·y·σ(y).

grad_x = grad_z·y·σ(y)
grad_y = grad_z·x·σ(y)·(1 + y·(1 − σ(y)))
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


@register_operator_compute("CustomOpsMulSigmoidGrad", op_mode="static", support_fusion=True)
def mul_sigmoid_grad_compute(x, y, grad_z, grad_x, grad_y, kernel_name="mul_sigmoid_grad"):
    """Returns the graph of `mul_sigmoid_grad`."""
    left, right, grad = words.together(x, y, grad_z)
    by_y = dsl.vmul(dsl.vmul(grad, left), words.swish_slope(right))
    return [words.summed(dsl.vmul(grad, words.swish(right)), x), words.summed(by_y, y)]


@para_check.check_op_params(*params(3, 2))
def mul_sigmoid_grad(x, y, grad_z, grad_x, grad_y, kernel_name="mul_sigmoid_grad"):
    """Builds the kernel."""
    build(
        mul_sigmoid_grad_compute,
        {"x": x, "y": y, "grad_z": grad_z},
        [grad_x, grad_y],
        [],
        kernel_name,
        views=of_one_rank(x=x, y=y, grad_z=grad_z),
    )
