"""A dynamic operator whose axes are an array: static, or dynamic at call time."""

from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import para_check, shape_util


@register_operator("CentredDynamic")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def centred_dynamic(x, axes, y, kernel_name="centred_dynamic"):
    """x minus its maximum along the axes."""
    para_check.check_dtype(x["dtype"], ("float16", "float32"), param_name="x")
    schedules, tensors = [], []
    axes["rel_pos_to_reduce"] = "axis"
    for data_in, axes_in in dsl.classify([x, axes], "reduce", {"keepdims": True}):
        with dsl.compute():
            shape, axes_shape = shape_util.variable_shape([data_in, axes_in], op_mode="reduce")
            data = tvm.placeholder(shape, x["dtype"], "data")
            places = tvm.placeholder(axes_shape, axes["dtype"], "axes")
            largest = dsl.reduce_max(data, axes_in.get("value"), keepdims=True)
            res = dsl.vsub(data, dsl.broadcast(largest, shape))
        tensors.append([data, places, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
