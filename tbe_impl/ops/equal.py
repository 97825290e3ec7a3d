"""Element-wise comparison x1 = x2.

y = 1 if x1 = x2, and 0 otherwise.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: x1 and x2 float16, float32; y int8.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

from kernel_building import build_static, compare
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("equal")
def equal_compute(x1, x2, y, kernel_name="equal"):
    """Builds the DSL graph of `equal` and returns the output tensor."""
    return compare(x1, x2, "eq")


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def equal(x1, x2, y, kernel_name="equal"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x1": x1, "x2": x2},
        ("float16", "float32"),
        lambda x1, x2: equal_compute(x1, x2, y, kernel_name),
    )
