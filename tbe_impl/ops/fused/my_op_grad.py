"""Gradients of (x − y)·x.

grad_x = grad_z·(2·x − y)
grad_y = −grad_z·x
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


@register_operator_compute("CustomOpsMyOpGrad", op_mode="static", support_fusion=True)
def my_op_grad_compute(x, y, grad_z, grad_x, grad_y, kernel_name="my_op_grad"):
    """Returns the graph of `my_op_grad`."""
    left, right, grad = words.together(x, y, grad_z)
    by_x = dsl.vmul(grad, dsl.vsub(dsl.vadd(left, left), right))
    by_y = dsl.vmuls(dsl.vmul(grad, left), -1.0)
    return [words.summed(by_x, x), words.summed(by_y, y)]


@para_check.check_op_params(*params(3, 2))
def my_op_grad(x, y, grad_z, grad_x, grad_y, kernel_name="my_op_grad"):
    """Builds the kernel."""
    build(
        my_op_grad_compute,
        {"x": x, "y": y, "grad_z": grad_z},
        [grad_x, grad_y],
        [],
        kernel_name,
        views=of_one_rank(x=x, y=y, grad_z=grad_z),
    )
