"""Logical and.

y = 1 where x1 and x2 are 1, else 0; x1 and x2 have the values 0 and 1.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: int8.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util
from topi import generic


@fusion_manager.register("logical_and")
def logical_and_compute(x1, x2, y, kernel_name="logical_and"):
    """Returns the graph of `logical_and`."""
    _, _, shape = shape_util.broadcast_shapes(
        shape_util.shape_to_list(x1.shape), shape_util.shape_to_list(x2.shape)
    )
    x1 = te.lang.cce.broadcast(x1, shape)
    x2 = te.lang.cce.broadcast(x2, shape)
    x1, x2 = te.lang.cce.cast_to(x1, "float16"), te.lang.cce.cast_to(x2, "float16")
    return te.lang.cce.cast_to(te.lang.cce.vmul(x1, x2), "int8")


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def logical_and(x1, x2, y, kernel_name="logical_and"):
    """Builds the kernel."""
    para_check.check_shape(x1.get("shape"), param_name="x1")
    para_check.check_shape(x2.get("shape"), param_name="x2")
    dtype = x1.get("dtype").lower()
    para_check.check_dtype(dtype, ("int8",), param_name="x1")
    shape_util.compare_tensor_dict_key(x1, x2, "dtype")
    shape_x1, shape_x2, _ = shape_util.broadcast_shapes(x1.get("shape"), x2.get("shape"))
    data_x1 = tvm.placeholder(shape_x1, name="data_x1", dtype=dtype)
    data_x2 = tvm.placeholder(shape_x2, name="data_x2", dtype=dtype)
    res = logical_and_compute(data_x1, data_x2, y, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(
        schedule, {"name": kernel_name, "tensor_list": [data_x1, data_x2, res]}
    )
