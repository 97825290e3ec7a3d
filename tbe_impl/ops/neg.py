"""Negation.

y = −x.

Shapes: any; y has the shape of x.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, or `para_check.check_shape` rejects the shape.
"""

import te.lang.cce
from kernel_building import build_static
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("neg")
def neg_compute(x, y, kernel_name="neg"):
    """Builds the DSL graph of `neg` and returns the output tensor."""
    return te.lang.cce.vmul(x, te.lang.cce.broadcast(tvm.const(-1, x.dtype), x.shape))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def neg(x, y, kernel_name="neg"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32", "int32"),
        lambda x: neg_compute(x, y, kernel_name),
    )
