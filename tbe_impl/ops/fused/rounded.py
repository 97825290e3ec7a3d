"""Conversion of a sum to float16.

y = x, rounded to float16.

Shapes: all tensors have the same shape.
dtypes: x float32, y float16.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused.building import build, params

DTYPES = ("float32",)
"""Of x."""


@register_operator_compute("CustomOpsRounded", op_mode="static", support_fusion=True)
def rounded_compute(x, y, kernel_name="rounded"):
    """Returns the graph of `rounded`."""
    return dsl.cast_to(x, "float16")


@para_check.check_op_params(*params(1, 1))
def rounded(x, y, kernel_name="rounded"):
    """Builds the kernel."""
    build(rounded_compute, {"x": x}, [y], [], kernel_name, dtypes={"x": DTYPES})
