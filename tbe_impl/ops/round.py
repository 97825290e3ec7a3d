"""Rounding to the nearest integer, ties to even.

y = round(x).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("round")
def round_compute(x, y, kernel_name="round"):
    """Builds the DSL graph of `round` and returns the output tensor."""
    return te.lang.cce.cast_to(te.lang.cce.round(x), x.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def round(x, y, kernel_name="round"):
    """Builds the kernel."""
    build_static(
        kernel_name, {"x": x}, ("float16", "float32"), lambda x: round_compute(x, y, kernel_name)
    )
