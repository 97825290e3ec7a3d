"""Exponential linear unit.

y = x if x > 0, and alpha·(e^x − 1) otherwise.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("elu")
def elu_compute(x, y, alpha=1.0, kernel_name="elu"):
    """Builds the DSL graph of `elu` and returns the output tensor."""
    negative = te.lang.cce.vmuls(
        te.lang.cce.vadds(te.lang.cce.vexp(te.lang.cce.vmins(x, 0.0)), -1.0), alpha
    )
    return te.lang.cce.vadd(te.lang.cce.vmaxs(x, 0.0), negative)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def elu(x, y, alpha=1.0, kernel_name="elu"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: elu_compute(x, y, alpha, kernel_name),
    )
