"""Difference of two tensors.

y = x1 − x2.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

import te.lang.cce
from kernel_building import broadcast_together, build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("sub")
def sub_compute(x1, x2, y, kernel_name="sub"):
    """Builds the DSL graph of `sub` and returns the output tensor."""
    x1, x2 = broadcast_together(x1, x2)
    return te.lang.cce.vsub(x1, x2)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def sub(x1, x2, y, kernel_name="sub"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x1": x1, "x2": x2},
        ("float16", "float32", "int32"),
        lambda x1, x2: sub_compute(x1, x2, y, kernel_name),
    )
