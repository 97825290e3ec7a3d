"""Logarithm of the logistic function.

y = min(x, 0) − ln(1 + e^(−|x|)).

Shapes: any, and y has it too. dtypes: float16, float32. Errors: another dtype or shape: the error of `para_check`.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check
from topi import generic


@fusion_manager.register("log_sigmoid")
def log_sigmoid_compute(x, y, kernel_name="log_sigmoid"):
    """The graph of `log_sigmoid`."""
    small = te.lang.cce.vlog(
        te.lang.cce.vadds(te.lang.cce.vexp(te.lang.cce.vmuls(te.lang.cce.vabs(x), -1.0)), 1.0)
    )
    return te.lang.cce.vsub(te.lang.cce.vmins(x, 0.0), small)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def log_sigmoid(x, y, kernel_name="log_sigmoid"):
    """Builds the kernel."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    shape = x.get("shape")
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    res = log_sigmoid_compute(data_x, y, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data_x, res]})
