"""Square root.

y = √x.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check
from topi import generic


@fusion_manager.register("sqrt")
def sqrt_compute(x, y, kernel_name="sqrt"):
    """Returns the graph of `sqrt`."""
    return te.lang.cce.vsqrt(x)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def sqrt(x, y, kernel_name="sqrt"):
    """Builds the kernel."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    shape = x.get("shape")
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    res = sqrt_compute(data_x, y, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data_x, res]})
