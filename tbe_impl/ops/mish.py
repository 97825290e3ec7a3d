"""Mish activation.

y = x·tanh(ln(1 + e^x)). For x ≥ 0, this is x·(1 + 2·e^(−x)) / (1 + 2·e^(−x) + 2·e^(−2x)).
For x < 0, this is x·(e^(2x) + 2·e^x) / (e^(2x) + 2·e^x + 2).

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("mish")
def mish_compute(x, y, kernel_name="mish"):
    """Builds the DSL graph of `mish` and returns the output tensor."""
    power = te.lang.cce.vexp(te.lang.cce.vmuls(te.lang.cce.vabs(x), -1.0))
    square = te.lang.cce.vmul(power, power)
    above = te.lang.cce.vdiv(
        te.lang.cce.vadds(te.lang.cce.vmuls(power, 2.0), 1.0),
        te.lang.cce.vadds(te.lang.cce.vmuls(te.lang.cce.vadd(power, square), 2.0), 1.0),
    )
    below = te.lang.cce.vdiv(
        te.lang.cce.vadd(square, te.lang.cce.vmuls(power, 2.0)),
        te.lang.cce.vadds(te.lang.cce.vadd(square, te.lang.cce.vmuls(power, 2.0)), 2.0),
    )
    zero = te.lang.cce.broadcast(tvm.const(0, x.dtype), x.shape)
    return te.lang.cce.vmul(x, te.lang.cce.vcmpsel(x, zero, "ge", above, below))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def mish(x, y, kernel_name="mish"):
    """Builds the kernel."""
    build_static(
        kernel_name, {"x": x}, ("float16", "float32"), lambda x: mish_compute(x, y, kernel_name)
    )
