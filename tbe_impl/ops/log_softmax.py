"""Logarithm of softmax.

y = x − max x − ln Σ e^(x − max x); max and Σ over `axis`.

Shapes: x has at least one axis; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks the axis.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("LogSoftmax", op_mode="dynamic", support_fusion=True)
def log_softmax_compute(x, y, axis, kernel_name="log_softmax"):
    """Returns the graph of `log_softmax`; `axis` is a list."""
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
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    listed = shape_util.wrap_axes_to_positive(
        [axis] if isinstance(axis, int) else axis, len(x.get("shape"))
    )
    schedules, tensors = [], []
    for *variant, reduced in dsl.classify([x, listed], "norm"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant, op_mode="norm")
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            res = log_softmax_compute(data_x, y, reduced, kernel_name)
        tensors.append([data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
