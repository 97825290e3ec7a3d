"""Clamping to an interval.

y = min(max(x, low), high).

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("ClipByValue", op_mode="dynamic", support_fusion=True)
def clip_by_value_compute(x, low, high, y, kernel_name="clip_by_value"):
    """Returns the graph of `clip_by_value`."""
    shape = shape_util.unify_broadcast_shapes([x.shape, low.shape, high.shape])[-1]
    x = dsl.broadcast(x, shape)
    low = dsl.broadcast(low, shape)
    high = dsl.broadcast(high, shape)
    return dsl.vmin(dsl.vmax(x, low), high)


@register_operator("ClipByValue")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def clip_by_value(x, low, high, y, kernel_name="clip_by_value"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x.get("shape"), param_name="x")
    para_check.check_shape(low.get("shape"), param_name="low")
    para_check.check_shape(high.get("shape"), param_name="high")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    shape_util.compare_tensor_dict_key(x, low, "dtype")
    shape_util.compare_tensor_dict_key(x, high, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([x, low, high], "broadcast"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x = tvm.placeholder(shapes[0], name="data_x", dtype=dtype)
            data_low = tvm.placeholder(shapes[1], name="data_low", dtype=dtype)
            data_high = tvm.placeholder(shapes[2], name="data_high", dtype=dtype)
            res = clip_by_value_compute(data_x, data_low, data_high, y, kernel_name)
        tensors.append([data_x, data_low, data_high, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
