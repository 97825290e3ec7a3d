"""Reciprocal of the square root.

y = 1 / √x.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_static
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Rsqrt", op_mode="static", support_fusion=True)
def rsqrt_compute(x, y, kernel_name="rsqrt"):
    """Builds the DSL graph of `rsqrt` and returns the output tensor."""
    return dsl.vrsqrt(x)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def rsqrt(x, y, kernel_name="rsqrt"):
    """Builds the kernel; the inputs are flattened to one axis."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: rsqrt_compute(x, y, kernel_name),
        flatten=True,
    )
