"""Sum with a bias vector.

y = x + bias; bias has the size of the last axis.

Shapes: the inputs broadcast to one another; y has the broadcast shape.
dtypes: float16, float32, int32.
Raises:
    OperatorError: the dtype is unsupported, the dtypes differ, or the shapes do not broadcast.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("bias_add")
def bias_add_compute(x, bias, y, kernel_name="bias_add"):
    """Builds the DSL graph of `bias_add` and returns the output tensor."""
    _, _, shape = shape_util.broadcast_shapes(
        shape_util.shape_to_list(x.shape), shape_util.shape_to_list(bias.shape)
    )
    x = te.lang.cce.broadcast(x, shape)
    bias = te.lang.cce.broadcast(bias, shape)
    return te.lang.cce.vadd(x, bias)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def bias_add(x, bias, y, kernel_name="bias_add"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x, "bias": bias},
        ("float16", "float32", "int32"),
        lambda x, bias: bias_add_compute(x, bias, y, kernel_name),
    )
