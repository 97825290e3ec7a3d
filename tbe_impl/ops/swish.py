"""Swish activation.

y = x / (1 + e^(−beta·x)).

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


@fusion_manager.register("swish")
def swish_compute(x, y, beta=1.0, kernel_name="swish"):
    """Returns the graph of `swish`."""
    power = te.lang.cce.vexp(te.lang.cce.vmuls(x, -beta))
    return te.lang.cce.vmul(x, te.lang.cce.vrec(te.lang.cce.vadds(power, 1.0)))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def swish(x, y, beta=1.0, kernel_name="swish"):
    """Builds the kernel."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    shape = x.get("shape")
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    res = swish_compute(data_x, y, beta, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data_x, res]})
