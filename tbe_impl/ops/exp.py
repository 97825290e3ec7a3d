"""Exponential function with any base.

y = base^(scale·x + shift); base −1 stands for e.

Shapes: any; y has the shape of x.
dtypes: float16, float32.
Raises:
    RuntimeError: base is 0, or is a negative number other than −1.
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import math

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("exp")
def exp_compute(x, y, base=-1.0, scale=1.0, shift=0.0, kernel_name="exp"):
    """Builds the DSL graph of `exp` and returns the output tensor."""
    if base <= 0 and base != -1:
        raise RuntimeError(f"base has to be greater than 0, or -1 for e, but is {base}")
    factor = 1.0 if base == -1 else math.log(base)
    scaled = te.lang.cce.vadds(te.lang.cce.vmuls(x, factor * scale), factor * shift)
    return te.lang.cce.vexp(scaled)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def exp(x, y, base=-1.0, scale=1.0, shift=0.0, kernel_name="exp"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: exp_compute(x, y, base, scale, shift, kernel_name),
    )
