"""Sum of a tensor and a scaled quotient.

y = input_data + value·x1 / x2.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("Addcdiv", op_mode="dynamic", support_fusion=True)
def addcdiv_compute(input_data, x1, x2, y, value=1.0, kernel_name="addcdiv"):
    """Returns the graph of `addcdiv`."""
    shape = shape_util.unify_broadcast_shapes([input_data.shape, x1.shape, x2.shape])[-1]
    input_data = dsl.broadcast(input_data, shape)
    x1 = dsl.broadcast(x1, shape)
    x2 = dsl.broadcast(x2, shape)
    return dsl.vadd(input_data, dsl.vmuls(dsl.vdiv(x1, x2), value))


@register_operator("Addcdiv")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def addcdiv(input_data, x1, x2, y, value=1.0, kernel_name="addcdiv"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(input_data.get("shape"), param_name="input_data")
    para_check.check_shape(x1.get("shape"), param_name="x1")
    para_check.check_shape(x2.get("shape"), param_name="x2")
    dtype = input_data.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="input_data")
    shape_util.compare_tensor_dict_key(input_data, x1, "dtype")
    shape_util.compare_tensor_dict_key(input_data, x2, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([input_data, x1, x2], "broadcast"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_input_data = tvm.placeholder(shapes[0], name="data_input_data", dtype=dtype)
            data_x1 = tvm.placeholder(shapes[1], name="data_x1", dtype=dtype)
            data_x2 = tvm.placeholder(shapes[2], name="data_x2", dtype=dtype)
            res = addcdiv_compute(data_input_data, data_x1, data_x2, y, value, kernel_name)
        tensors.append([data_input_data, data_x1, data_x2, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
