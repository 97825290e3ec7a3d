"""Swish activation.

y = x / (1 + e^(−beta·x)).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("swish")
def swish_compute(x, y, beta=1.0, kernel_name="swish"):
    """Builds the DSL graph of `swish` and returns the output tensor."""
    power = te.lang.cce.vexp(te.lang.cce.vmuls(x, -beta))
    return te.lang.cce.vmul(x, te.lang.cce.vrec(te.lang.cce.vadds(power, 1.0)))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def swish(x, y, beta=1.0, kernel_name="swish"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: swish_compute(x, y, beta, kernel_name),
    )
