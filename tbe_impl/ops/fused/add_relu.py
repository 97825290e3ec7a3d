"""relu(x + y).

z = max(x + y, 0).

Shapes: all tensors have the same shape.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsAddReLU", op_mode="static", support_fusion=True)
def add_relu_compute(x, y, z, kernel_name="add_relu"):
    """Returns the graph of `add_relu`."""
    res = dsl.vmaxs(dsl.vadd(words.wide(x), words.wide(y)), 0.0)
    return dsl.cast_to(res, x.dtype)


@para_check.check_op_params(*params(2, 1))
def add_relu(x, y, z, kernel_name="add_relu"):
    """Builds the kernel."""
    build(add_relu_compute, {"x": x, "y": y}, [z], [], kernel_name)
