"""Hyperbolic tangent.

y = sign(x)·(1 − e^(−2|x|)) / (1 + e^(−2|x|)).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util

TINY = 2.0**-24


@register_operator_compute("Tanh", op_mode="dynamic", support_fusion=True)
def tanh_compute(x, y, kernel_name="tanh"):
    """Returns the graph of `tanh`."""
    power = dsl.vexp(dsl.vmuls(dsl.vabs(x), -2.0))
    size = dsl.vdiv(dsl.vadds(dsl.vmuls(power, -1.0), 1.0), dsl.vadds(power, 1.0))
    return dsl.vmul(size, dsl.vdiv(x, dsl.vadds(dsl.vabs(x), TINY)))


@register_operator("Tanh")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def tanh(x, y, kernel_name="tanh"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    schedules, tensors = [], []
    for variant in dsl.classify([x], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            res = tanh_compute(data_x, y, kernel_name)
        tensors.append([data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
