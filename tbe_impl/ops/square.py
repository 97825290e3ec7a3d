"""Square.

y = x².

Shapes: any; y has the shape of x.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("square")
def square_compute(x, y, kernel_name="square"):
    """Builds the DSL graph of `square` and returns the output tensor."""
    return te.lang.cce.vmul(x, x)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def square(x, y, kernel_name="square"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32", "int32"),
        lambda x: square_compute(x, y, kernel_name),
    )
