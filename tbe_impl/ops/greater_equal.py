"""Element-wise comparison x1 ≥ x2.

y = 1 where x1 ≥ x2, else 0.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32; y int8.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("GreaterEqual", op_mode="dynamic", support_fusion=True)
def greater_equal_compute(x1, x2, y, kernel_name="greater_equal"):
    """Returns the graph of `greater_equal`."""
    shape = shape_util.unify_broadcast_shapes([x1.shape, x2.shape])[-1]
    x1 = dsl.broadcast(x1, shape)
    x2 = dsl.broadcast(x2, shape)
    one = dsl.broadcast(tvm.const(1, "float16"), shape)
    zero = dsl.broadcast(tvm.const(0, "float16"), shape)
    chosen = dsl.vsel(dsl.vcmp(x1, x2, "ge"), one, zero)
    return dsl.cast_to(chosen, "int8")


@register_operator("GreaterEqual")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def greater_equal(x1, x2, y, kernel_name="greater_equal"):
    """Builds the kernel for static shapes and for dynamic shapes (sizes of -1)."""
    para_check.check_shape(x1.get("shape"), param_name="x1")
    para_check.check_shape(x2.get("shape"), param_name="x2")
    dtype = x1.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x1")
    shape_util.compare_tensor_dict_key(x1, x2, "dtype")
    schedules, tensors = [], []
    for variant in dsl.classify([x1, x2], "broadcast"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant)
            data_x1 = tvm.placeholder(shapes[0], name="data_x1", dtype=dtype)
            data_x2 = tvm.placeholder(shapes[1], name="data_x2", dtype=dtype)
            res = greater_equal_compute(data_x1, data_x2, y, kernel_name)
        tensors.append([data_x1, data_x2, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
