"""Logarithm of softmax.

y = x − max x − ln Σ e^(x − max x); max and Σ are taken over `axis`.

Shapes: x has at least one axis; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks the axis.
"""

from kernel_building import build_along_axes
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("LogSoftmax", op_mode="dynamic", support_fusion=True)
def log_softmax_compute(x, y, axis, kernel_name="log_softmax"):
    """Builds the DSL graph of `log_softmax` and returns the output tensor; `axis` is a list."""
    wide = dsl.cast_to(x, "float32")
    largest = dsl.broadcast(dsl.reduce_max(wide, axis=axis, keepdims=True), x.shape)
    shifted = dsl.vsub(wide, largest)
    total = dsl.vlog(dsl.reduce_sum(dsl.vexp(shifted), axis=axis, keepdims=True))
    return dsl.cast_to(dsl.vsub(shifted, dsl.broadcast(total, x.shape)), x.dtype)


@register_operator("LogSoftmax")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT),
    para_check.KERNEL_NAME,
)
def log_softmax(x, y, axis=-1, kernel_name="log_softmax"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_along_axes(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        axis,
        lambda x, reduced: log_softmax_compute(x, y, reduced, kernel_name),
    )
