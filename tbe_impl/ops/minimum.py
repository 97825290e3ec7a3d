"""Element-wise minimum.

y = min(x1, x2).

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("Minimum", op_mode="dynamic", support_fusion=True)
def minimum_compute(x1, x2, y, kernel_name="minimum"):
    """Returns the graph of `minimum`."""
    shape = shape_util.unify_broadcast_shapes([x1.shape, x2.shape])[-1]
    x1 = dsl.broadcast(x1, shape)
    x2 = dsl.broadcast(x2, shape)
    return dsl.vmin(x1, x2)


@register_operator("Minimum")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def minimum(x1, x2, y, kernel_name="minimum"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x1.get("shape"), param_name="x1")
    para_check.check_shape(x2.get("shape"), param_name="x2")
    dtype = x1.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x1")
    shape_util.compare_tensor_dict_key(x1, x2, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([x1, x2], "broadcast"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x1 = tvm.placeholder(shapes[0], name="data_x1", dtype=dtype)
            data_x2 = tvm.placeholder(shapes[1], name="data_x2", dtype=dtype)
            res = minimum_compute(data_x1, data_x2, y, kernel_name)
        tensors.append([data_x1, data_x2, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
