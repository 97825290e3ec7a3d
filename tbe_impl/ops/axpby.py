"""Weighted sum of two tensors.

y = alpha·x1 + beta·x2.

Shapes: all inputs and y have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

import functools

from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("Axpby", op_mode="static", support_fusion=True)
def axpby_compute(x1, x2, y, alpha=1.0, beta=1.0, kernel_name="axpby"):
    """Returns the graph of `axpby`."""
    return dsl.vadd(dsl.vmuls(x1, alpha), dsl.vmuls(x2, beta))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def axpby(x1, x2, y, alpha=1.0, beta=1.0, kernel_name="axpby"):
    """Builds the kernel; the inputs are flattened to one axis."""
    para_check.check_shape(x1.get("shape"), param_name="x1")
    dtype = x1.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x1")
    shape_util.compare_tensor_dict_key(x1, x2, "shape")
    shape_util.compare_tensor_dict_key(x1, x2, "dtype")
    shape = (functools.reduce(lambda one, other: one * other, x1.get("shape"), 1),)
    data_x1 = tvm.placeholder(shape, name="data_x1", dtype=dtype)
    data_x2 = tvm.placeholder(shape, name="data_x2", dtype=dtype)
    res = axpby_compute(data_x1, data_x2, y, alpha, beta, kernel_name)
    with tvm.target.cce():
        schedule = dsl.auto_schedule(res)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [data_x1, data_x2, res]})
