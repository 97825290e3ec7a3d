"""Gradients of dropout of a tensor with a bias, added to a residual.

grad_x = grad_y·kept / (1 − p)
grad_bias = grad_x, summed over the axes along which bias was broadcast
grad_residual = grad_y, summed over the axes along which residual was broadcast
With p = 0, kept is not read.

Shapes: bias and residual broadcast to x, and only their shapes are read; kept and grad_y have
    the shape of x. kept is 0 or 1.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params


@register_operator_compute(
    "CustomOpsBiasDropoutAddOfKeptGrad", op_mode="static", support_fusion=True
)
def bias_dropout_add_grad_compute(
    bias,
    residual,
    kept,
    grad_y,
    grad_x,
    grad_bias,
    grad_residual,
    p=0.5,
    kernel_name="bias_dropout_add_grad",
):
    """Returns the graph of `bias_dropout_add_grad`."""
    grad = words.wide(grad_y)
    found = words.left_by_dropout(grad, kept, p)
    return [
        dsl.cast_to(found, grad_y.dtype),
        words.summed(found, bias),
        words.summed(grad, residual),
    ]


@para_check.check_op_params(*params(4, 3, ("float",)))
def bias_dropout_add_grad(
    bias,
    residual,
    kept,
    grad_y,
    grad_x,
    grad_bias,
    grad_residual,
    p=0.5,
    kernel_name="bias_dropout_add_grad",
):
    """Builds the kernel."""
    given = {"bias": bias, "residual": residual, "kept": kept, "grad_y": grad_y}
    build(
        bias_dropout_add_grad_compute,
        given,
        [grad_x, grad_bias, grad_residual],
        [p],
        kernel_name,
        views=of_one_rank(**given),
    )
