"""Sum with a bias vector.

y = x + bias; bias has the size of the last axis.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util
from topi import generic


@fusion_manager.register("bias_add")
def bias_add_compute(x, bias, y, kernel_name="bias_add"):
    """Returns the graph of `bias_add`."""
    _, _, shape = shape_util.broadcast_shapes(
        shape_util.shape_to_list(x.shape), shape_util.shape_to_list(bias.shape)
    )
    x = te.lang.cce.broadcast(x, shape)
    bias = te.lang.cce.broadcast(bias, shape)
    return te.lang.cce.vadd(x, bias)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def bias_add(x, bias, y, kernel_name="bias_add"):
    """Builds the kernel."""
    para_check.check_shape(x.get("shape"), param_name="x")
    para_check.check_shape(bias.get("shape"), param_name="bias")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    shape_util.compare_tensor_dict_key(x, bias, "dtype")
    shape_x, shape_bias, _ = shape_util.broadcast_shapes(x.get("shape"), bias.get("shape"))
    data_x = tvm.placeholder(shape_x, name="data_x", dtype=dtype)
    data_bias = tvm.placeholder(shape_bias, name="data_bias", dtype=dtype)
    res = bias_add_compute(data_x, data_bias, y, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(
        schedule, {"name": kernel_name, "tensor_list": [data_x, data_bias, res]}
    )
