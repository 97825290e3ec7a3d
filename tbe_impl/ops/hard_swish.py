"""Piecewise quadratic approximation of swish.

y = x·min(max(x + 3, 0), 6) / 6.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("HardSwish", op_mode="dynamic", support_fusion=True)
def hard_swish_compute(x, y, kernel_name="hard_swish"):
    """Returns the graph of `hard_swish`."""
    gate = dsl.vmins(dsl.vmaxs(dsl.vadds(x, 3.0), 0.0), 6.0)
    return dsl.vmuls(dsl.vmul(x, gate), 1.0 / 6.0)


@register_operator("HardSwish")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def hard_swish(x, y, kernel_name="hard_swish"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    schedules, tensors = [], []
    for variant in dsl.classify([x], "elewise"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            res = hard_swish_compute(data_x, y, kernel_name)
        tensors.append([data_x, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
