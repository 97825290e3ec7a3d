"""Weighted sum of two tensors.

y = alpha·x1 + beta·x2.

Shapes: all inputs and y have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from kernel_building import build_static
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("Axpby", op_mode="static", support_fusion=True)
def axpby_compute(x1, x2, y, alpha=1.0, beta=1.0, kernel_name="axpby"):
    """Builds the DSL graph of `axpby` and returns the output tensor."""
    return dsl.vadd(dsl.vmuls(x1, alpha), dsl.vmuls(x2, beta))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def axpby(x1, x2, y, alpha=1.0, beta=1.0, kernel_name="axpby"):
    """Builds the kernel; the inputs are flattened to one axis."""
    build_static(
        kernel_name,
        {"x1": x1, "x2": x2},
        ("float16", "float32"),
        lambda x1, x2: axpby_compute(x1, x2, y, alpha, beta, kernel_name),
        equal=("shape", "dtype"),
        flatten=True,
    )
