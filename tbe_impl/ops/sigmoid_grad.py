"""Gradient of sigmoid, computed from the result y of sigmoid.

z = dy·y·(1 − y).

Shapes: all inputs and z have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("sigmoid_grad")
def sigmoid_grad_compute(y, dy, z, kernel_name="sigmoid_grad"):
    """Builds the DSL graph of `sigmoid_grad` and returns the output tensor."""
    return te.lang.cce.vmul(dy, te.lang.cce.vsub(y, te.lang.cce.vmul(y, y)))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def sigmoid_grad(y, dy, z, kernel_name="sigmoid_grad"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"y": y, "dy": dy},
        ("float16", "float32"),
        lambda y, dy: sigmoid_grad_compute(y, dy, z, kernel_name),
        equal=("shape", "dtype"),
    )
