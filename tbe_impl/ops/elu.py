"""Exponential linear unit.

y = x where x > 0, else alpha·(e^x − 1).

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


@fusion_manager.register("elu")
def elu_compute(x, y, alpha=1.0, kernel_name="elu"):
    """Returns the graph of `elu`."""
    negative = te.lang.cce.vmuls(
        te.lang.cce.vadds(te.lang.cce.vexp(te.lang.cce.vmins(x, 0.0)), -1.0), alpha
    )
    return te.lang.cce.vadd(te.lang.cce.vmaxs(x, 0.0), negative)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def elu(x, y, alpha=1.0, kernel_name="elu"):
    """Builds the kernel."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="x")
    shape = x.get("shape")
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    res = elu_compute(data_x, y, alpha, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data_x, res]})
