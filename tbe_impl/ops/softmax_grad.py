"""Gradient of softmax, computed from the result of softmax.

grad_x = softmax·(grad_softmax − Σ softmax·grad_softmax); Σ over `axis`.

Shapes: all inputs and grad_x have the same shape, with at least one axis.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or the input lacks the axis.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("SoftmaxGrad", op_mode="dynamic", support_fusion=True)
def softmax_grad_compute(softmax, grad_softmax, grad_x, axis, kernel_name="softmax_grad"):
    """Returns the graph of `softmax_grad`; `axis` is a list."""
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
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    dtype = softmax.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="softmax")
    listed = shape_util.wrap_axes_to_positive(
        [axis] if isinstance(axis, int) else axis, len(softmax.get("shape"))
    )
    schedules, tensors = [], []
    for *variant, reduced in dsl.classify([softmax, grad_softmax, listed], "norm"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant, op_mode="norm")
            data_softmax = tvm.placeholder(shapes[0], name="data_softmax", dtype=dtype)
            data_grad_softmax = tvm.placeholder(shapes[1], name="data_grad_softmax", dtype=dtype)
            res = softmax_grad_compute(
                data_softmax, data_grad_softmax, grad_x, reduced, kernel_name
            )
        tensors.append([data_softmax, data_grad_softmax, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
