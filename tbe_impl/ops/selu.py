"""Scaled exponential linear unit.

y = 1.0507·x where x > 0, else 1.7581·(e^x − 1).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util

ALPHA = 1.6732632423543772
SCALE = 1.0507009873554805


@register_operator_compute("Selu", op_mode="dynamic", support_fusion=True)
def selu_compute(x, y, kernel_name="selu"):
    """Returns the graph of `selu`."""
    negative = dsl.vmuls(dsl.vadds(dsl.vexp(dsl.vmins(x, 0.0)), -1.0), SCALE * ALPHA)
    return dsl.vadd(dsl.vmuls(dsl.vmaxs(x, 0.0), SCALE), negative)


@register_operator("Selu")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def selu(x, y, kernel_name="selu"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    schedules, tensors = [], []
    for variant in dsl.classify([x], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            res = selu_compute(data_x, y, kernel_name)
        tensors.append([data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
