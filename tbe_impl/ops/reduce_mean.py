"""Mean over axes.

y = Σ x / n over `axes`, where n is the number of reduced elements.

Shapes: x has at least one axis. Without keep_dims, y lacks the reduced axes;
    after a full reduction y has one element.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or x lacks one of `axes`.
"""

import functools

from kernel_building import build_reduction
from tbe import dsl, tvm
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("ReduceMean", op_mode="dynamic", support_fusion=True)
def reduce_mean_compute(x, y, axes, keep_dims, kernel_name="reduce_mean"):
    """Builds the DSL graph of `reduce_mean` and returns the output tensor."""
    count = functools.reduce(lambda one, other: one * other, [x.shape[axis] for axis in axes])
    total = dsl.reduce_sum(dsl.cast_to(x, "float32"), axis=axes, keepdims=keep_dims)
    share = tvm.div(tvm.const(1.0, "float32"), count.astype("float32"))
    return dsl.cast_to(dsl.vmuls(total, share), x.dtype)


@register_operator("ReduceMean")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    (para_check.REQUIRED_ATTR_INT, para_check.REQUIRED_ATTR_LIST_INT),
    para_check.OPTION_ATTR_BOOL,
    para_check.KERNEL_NAME,
)
def reduce_mean(x, y, axes, keep_dims=False, kernel_name="reduce_mean"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_reduction(
        kernel_name,
        x,
        ("float16", "float32"),
        axes,
        keep_dims,
        lambda data, listed: reduce_mean_compute(data, y, listed, keep_dims, kernel_name),
    )
