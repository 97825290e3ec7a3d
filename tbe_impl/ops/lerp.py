"""Linear interpolation.

y = start + weight·(end − start).

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("Lerp", op_mode="dynamic", support_fusion=True)
def lerp_compute(start, end, weight, y, kernel_name="lerp"):
    """Returns the graph of `lerp`."""
    shape = shape_util.unify_broadcast_shapes([start.shape, end.shape, weight.shape])[-1]
    start = dsl.broadcast(start, shape)
    end = dsl.broadcast(end, shape)
    weight = dsl.broadcast(weight, shape)
    return dsl.vadd(start, dsl.vmul(weight, dsl.vsub(end, start)))


@register_operator("Lerp")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def lerp(start, end, weight, y, kernel_name="lerp"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(start.get("shape"), param_name="start")
    para_check.check_shape(end.get("shape"), param_name="end")
    para_check.check_shape(weight.get("shape"), param_name="weight")
    dtype = start.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="start")
    shape_util.compare_tensor_dict_key(start, end, "dtype")
    shape_util.compare_tensor_dict_key(start, weight, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([start, end, weight], "broadcast"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_start = tvm.placeholder(shapes[0], name="data_start", dtype=dtype)
            data_end = tvm.placeholder(shapes[1], name="data_end", dtype=dtype)
            data_weight = tvm.placeholder(shapes[2], name="data_weight", dtype=dtype)
            res = lerp_compute(data_start, data_end, data_weight, y, kernel_name)
        tensors.append([data_start, data_end, data_weight, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
