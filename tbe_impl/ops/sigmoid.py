"""Logistic function.

y = 1 / (1 + e^(−x)).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("Sigmoid", op_mode="dynamic", support_fusion=True)
def sigmoid_compute(x, y, kernel_name="sigmoid"):
    """Returns the graph of `sigmoid`."""
    return dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(x, -1.0)), 1.0))


@register_operator("Sigmoid")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def sigmoid(x, y, kernel_name="sigmoid"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    schedules, tensors = [], []
    for variant in dsl.classify([x], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            res = sigmoid_compute(data_x, y, kernel_name)
        tensors.append([data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
