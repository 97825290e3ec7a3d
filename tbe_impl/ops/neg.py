"""Negation.

y = −x.

Shapes: any; y has the shape of x.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check
from topi import generic


@fusion_manager.register("neg")
def neg_compute(x, y, kernel_name="neg"):
    """Returns the graph of `neg`."""
    return te.lang.cce.vmul(x, te.lang.cce.broadcast(tvm.const(-1, x.dtype), x.shape))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def neg(x, y, kernel_name="neg"):
    """Builds the kernel."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    shape = x.get("shape")
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    res = neg_compute(data_x, y, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data_x, res]})
