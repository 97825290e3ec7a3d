"""Logical not.

y = 1 where x is 0, else 0.

Shapes: any; y has the shape of x.
dtypes: int8.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check
from topi import generic


@fusion_manager.register("logical_not")
def logical_not_compute(x, y, kernel_name="logical_not"):
    """Returns the graph of `logical_not`."""
    wide = te.lang.cce.cast_to(x, "float16")
    return te.lang.cce.cast_to(te.lang.cce.vadds(te.lang.cce.vmuls(wide, -1.0), 1.0), x.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def logical_not(x, y, kernel_name="logical_not"):
    """Builds the kernel."""
    para_check.check_shape(x.get("shape"), param_name="x")
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, ("int8",), param_name="x")
    shape = x.get("shape")
    data_x = tvm.placeholder(shape, name="data_x", dtype=dtype)
    res = logical_not_compute(data_x, y, kernel_name)
    with tvm.target.cce():
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data_x, res]})
