"""Softmax.

y = e^(x − max x) / Σ e^(x − max x); max and Σ are taken over `axis`.

Shapes: x has at least one axis; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks the axis.
"""

from kernel_building import build_along_axes
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Softmax", op_mode="dynamic", support_fusion=True)
def softmax_compute(x, y, axis, kernel_name="softmax"):
    """Builds the DSL graph of `softmax` and returns the output tensor; `axis` is a list."""
    largest = dsl.broadcast(dsl.reduce_max(x, axis=axis, keepdims=True), x.shape)
    power = dsl.vexp(dsl.cast_to(dsl.vsub(x, largest), "float32"))
    total = dsl.broadcast(dsl.reduce_sum(power, axis=axis, keepdims=True), x.shape)
    return dsl.cast_to(dsl.vdiv(power, total), x.dtype)


@register_operator("Softmax")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT),
    para_check.KERNEL_NAME,
)
def softmax(x, y, axis=-1, kernel_name="softmax"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_along_axes(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        axis,
        lambda x, reduced: softmax_compute(x, y, reduced, kernel_name),
    )
