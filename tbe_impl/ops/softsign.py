"""Softsign activation.

y = x / (1 + |x|).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import functools

from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Softsign", op_mode="static", support_fusion=True)
def softsign_compute(x, y, kernel_name="softsign"):
    """Returns the graph of `softsign`."""
    return dsl.vdiv(x, dsl.vadds(dsl.vabs(x), 1.0))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def softsign(x, y, kernel_name="softsign"):
    """Builds the kernel; the inputs are flattened to one axis."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    shape = (functools.reduce(lambda one, other: one * other, x.get("shape"), 1),)
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    res = softsign_compute(data_x, y, kernel_name)
    with tvm.target.cce():
        schedule = dsl.auto_schedule(res)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [data_x, res]})
