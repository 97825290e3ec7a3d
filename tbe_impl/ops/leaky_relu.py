"""Leaky rectified linear unit.

y = x where x > 0, else negative_slope·x.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("LeakyRelu", op_mode="dynamic", support_fusion=True)
def leaky_relu_compute(x, y, negative_slope=0.0, kernel_name="leaky_relu"):
    """Returns the graph of `leaky_relu`."""
    positive, negative = dsl.vmaxs(x, 0.0), dsl.vmins(x, 0.0)
    return dsl.vadd(positive, dsl.vmuls(negative, negative_slope))


@register_operator("LeakyRelu")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def leaky_relu(x, y, negative_slope=0.0, kernel_name="leaky_relu"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    schedules, tensors = [], []
    for variant in dsl.classify([x], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            res = leaky_relu_compute(data_x, y, negative_slope, kernel_name)
        tensors.append([data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
