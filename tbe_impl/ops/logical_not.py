"""Logical not.

y = 1 if x is 0, and 0 otherwise.

Shapes: any; y has the shape of x.
dtypes: int8.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("logical_not")
def logical_not_compute(x, y, kernel_name="logical_not"):
    """Builds the DSL graph of `logical_not` and returns the output tensor."""
    wide = te.lang.cce.cast_to(x, "float16")
    return te.lang.cce.cast_to(te.lang.cce.vadds(te.lang.cce.vmuls(wide, -1.0), 1.0), x.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def logical_not(x, y, kernel_name="logical_not"):
    """Builds the kernel."""
    build_static(kernel_name, {"x": x}, ("int8",), lambda x: logical_not_compute(x, y, kernel_name))
