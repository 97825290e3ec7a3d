"""Logical or.

y = 1 if x1 or x2 is 1, and 0 otherwise. The elements of x1 and x2 are 0 or 1.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: int8.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

import te.lang.cce
from kernel_building import broadcast_together, build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("logical_or")
def logical_or_compute(x1, x2, y, kernel_name="logical_or"):
    """Builds the DSL graph of `logical_or` and returns the output tensor."""
    x1, x2 = broadcast_together(x1, x2)
    x1, x2 = te.lang.cce.cast_to(x1, "float16"), te.lang.cce.cast_to(x2, "float16")
    return te.lang.cce.cast_to(te.lang.cce.vmax(x1, x2), "int8")


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def logical_or(x1, x2, y, kernel_name="logical_or"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x1": x1, "x2": x2},
        ("int8",),
        lambda x1, x2: logical_or_compute(x1, x2, y, kernel_name),
    )
