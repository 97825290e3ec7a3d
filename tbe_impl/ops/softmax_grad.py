"""Gradient of softmax, computed from the result of softmax.

grad_x = softmax·(grad_softmax − Σ softmax·grad_softmax); Σ is taken over `axis`.

Shapes: all inputs and grad_x have the same shape, with at least one axis.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or the input lacks the axis.
"""

from kernel_building import build_along_axes
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("SoftmaxGrad", op_mode="dynamic", support_fusion=True)
def softmax_grad_compute(softmax, grad_softmax, grad_x, axis, kernel_name="softmax_grad"):
    """Builds the DSL graph of `softmax_grad` and returns the output tensor; `axis` is a list."""
    value, wide = dsl.cast_to(softmax, "float32"), dsl.cast_to(grad_softmax, "float32")
    total = dsl.reduce_sum(dsl.vmul(value, wide), axis=axis, keepdims=True)
    res = dsl.vmul(value, dsl.vsub(wide, dsl.broadcast(total, softmax.shape)))
    return dsl.cast_to(res, softmax.dtype)


@register_operator("SoftmaxGrad")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT),
    para_check.KERNEL_NAME,
)
def softmax_grad(softmax, grad_softmax, grad_x, axis=-1, kernel_name="softmax_grad"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_along_axes(
        kernel_name,
        {"softmax": softmax, "grad_softmax": grad_softmax},
        ("float16", "float32"),
        axis,
        lambda softmax, grad_softmax, reduced: softmax_grad_compute(
            softmax, grad_softmax, grad_x, reduced, kernel_name
        ),
    )
