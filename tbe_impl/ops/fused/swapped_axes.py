"""Exchange of two axes.

y[a, c, b, …] = x[a, b, c, …].

Shapes: x (A, B, C, …), y (A, C, B, …).
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsSwappedAxes", op_mode="static", support_fusion=True)
def swapped_axes_compute(x, y, kernel_name="swapped_axes"):
    """Returns the graph of `swapped_axes`."""
    return dsl.transpose(x, [0, 2, 1, *range(3, len(x.shape))])


@para_check.check_op_params(*params(1, 1))
def swapped_axes(x, y, kernel_name="swapped_axes"):
    """Builds the kernel."""
    build(swapped_axes_compute, {"x": x}, [y], [], kernel_name)
