"""Gradient of sigmoid, computed from the result y of sigmoid.

z = dy·y·(1 − y).

Shapes: all inputs and z have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util
from topi import generic


@fusion_manager.register("sigmoid_grad")
def sigmoid_grad_compute(y, dy, z, kernel_name="sigmoid_grad"):
    """Returns the graph of `sigmoid_grad`."""
    return te.lang.cce.vmul(dy, te.lang.cce.vsub(y, te.lang.cce.vmul(y, y)))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def sigmoid_grad(y, dy, z, kernel_name="sigmoid_grad"):
    """Builds the kernel."""
    para_check.check_shape(y.get("shape"), param_name="y")
    dtype = y.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="y")
    shape_util.compare_tensor_dict_key(y, dy, "shape")
    shape_util.compare_tensor_dict_key(y, dy, "dtype")
    shape = y.get("shape")
    data_y = tvm.placeholder(shape, name="data_y", dtype=dtype)
    data_dy = tvm.placeholder(shape, name="data_dy", dtype=dtype)
    res = sigmoid_grad_compute(data_y, data_dy, z, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(
        schedule, {"name": kernel_name, "tensor_list": [data_y, data_dy, res]}
    )
