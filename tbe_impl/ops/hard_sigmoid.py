"""Piecewise linear approximation of the logistic function.

y = min(max(alpha·x + beta, 0), 1).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

from kernel_building import build_static
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("HardSigmoid", op_mode="static", support_fusion=True)
def hard_sigmoid_compute(x, y, alpha=0.16666666666666666, beta=0.5, kernel_name="hard_sigmoid"):
    """Builds the DSL graph of `hard_sigmoid` and returns the output tensor."""
    return dsl.vmins(dsl.vmaxs(dsl.vadds(dsl.vmuls(x, alpha), beta), 0.0), 1.0)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def hard_sigmoid(x, y, alpha=0.16666666666666666, beta=0.5, kernel_name="hard_sigmoid"):
    """Builds the kernel; the inputs are flattened to one axis."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: hard_sigmoid_compute(x, y, alpha, beta, kernel_name),
        flatten=True,
    )
