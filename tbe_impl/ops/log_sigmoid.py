"""Logarithm of the logistic function.

y = min(x, 0) − ln(1 + e^(−|x|)).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("log_sigmoid")
def log_sigmoid_compute(x, y, kernel_name="log_sigmoid"):
    """Builds the DSL graph of `log_sigmoid` and returns the output tensor."""
    power = te.lang.cce.vexp(te.lang.cce.vmuls(te.lang.cce.vabs(x), -1.0))
    whole = te.lang.cce.vadds(power, 1.0)
    # for a small power, the rounding error of 1 + power is the power itself
    lost = te.lang.cce.vsub(power, te.lang.cce.vadds(whole, -1.0))
    small = te.lang.cce.vadd(te.lang.cce.vlog(whole), te.lang.cce.vdiv(lost, whole))
    return te.lang.cce.vsub(te.lang.cce.vmins(x, 0.0), small)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def log_sigmoid(x, y, kernel_name="log_sigmoid"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: log_sigmoid_compute(x, y, kernel_name),
    )
