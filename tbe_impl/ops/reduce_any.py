"""Logical or over axes.

y = 1 if any element along `axes` is non-zero, and 0 otherwise.

Shapes: x has at least one axis. Without keep_dims, y lacks the reduced axes.
dtypes: int8.
Raises:
    OperatorError: the dtype is unsupported, or x lacks one of `axes`.
"""

import te.lang.cce
from kernel_building import build_reduction
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("reduce_any")
def reduce_any_compute(x, y, axes, keep_dims, kernel_name="reduce_any"):
    """Builds the DSL graph of `reduce_any` and returns the output tensor."""
    wide = te.lang.cce.vabs(te.lang.cce.cast_to(x, "float16"))
    found = te.lang.cce.reduce_max(wide, axis=axes, keepdims=keep_dims)
    return te.lang.cce.cast_to(te.lang.cce.vmins(found, 1.0), "int8")


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.REQUIRED_ATTR_INT, para_check.REQUIRED_ATTR_LIST_INT),
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def reduce_any(x, y, axes, keep_dims=False, kernel_name="reduce_any"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_reduction(
        kernel_name,
        x,
        ("int8",),
        axes,
        keep_dims,
        lambda data, listed: reduce_any_compute(data, y, listed, keep_dims, kernel_name),
    )
