"""Reciprocal.

y = 1 / x.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_static
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Reciprocal", op_mode="static", support_fusion=True)
def reciprocal_compute(x, y, kernel_name="reciprocal"):
    """Builds the DSL graph of `reciprocal` and returns the output tensor."""
    return dsl.vrec(x)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def reciprocal(x, y, kernel_name="reciprocal"):
    """Builds the kernel; the inputs are flattened to one axis."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: reciprocal_compute(x, y, kernel_name),
        flatten=True,
    )
