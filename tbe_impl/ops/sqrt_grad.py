"""Gradient of sqrt, computed from the result y of sqrt.

z = dy / (2·y).

Shapes: all inputs and z have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

import functools

from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("SqrtGrad", op_mode="static", support_fusion=True)
def sqrt_grad_compute(y, dy, z, kernel_name="sqrt_grad"):
    """Returns the graph of `sqrt_grad`."""
    return dsl.vdiv(dsl.vmuls(dy, 0.5), y)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def sqrt_grad(y, dy, z, kernel_name="sqrt_grad"):
    """Builds the kernel; the inputs are flattened to one axis."""
    para_check.check_shape(y.get("shape"), param_name="y")
    dtype = y.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="y")
    shape_util.compare_tensor_dict_key(y, dy, "shape")
    shape_util.compare_tensor_dict_key(y, dy, "dtype")
    shape = (functools.reduce(lambda one, other: one * other, y.get("shape"), 1),)
    data_y = tvm.placeholder(shape, name="data_y", dtype=dtype)
    data_dy = tvm.placeholder(shape, name="data_dy", dtype=dtype)
    res = sqrt_grad_compute(data_y, data_dy, z, kernel_name)
    with tvm.target.cce():
        schedule = dsl.auto_schedule(res)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [data_y, data_dy, res]})
