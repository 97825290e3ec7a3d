"""Minimum over axes.

y = min x over `axes`.

Shapes: x has at least one axis. Without keep_dims, y lacks the reduced axes;
    after a full reduction y has one element.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks one of `axes`.
"""

import te.lang.cce
from kernel_building import build_reduction
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("reduce_min")
def reduce_min_compute(x, y, axes, keep_dims, kernel_name="reduce_min"):
    """Builds the DSL graph of `reduce_min` and returns the output tensor."""
    return te.lang.cce.reduce_min(x, axis=axes, keepdims=keep_dims, priority_flag=True)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.REQUIRED_ATTR_INT, para_check.REQUIRED_ATTR_LIST_INT),
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def reduce_min(x, y, axes, keep_dims=False, kernel_name="reduce_min"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_reduction(
        kernel_name,
        x,
        ("float16", "float32", "int32"),
        axes,
        keep_dims,
        lambda data, listed: reduce_min_compute(data, y, listed, keep_dims, kernel_name),
    )
