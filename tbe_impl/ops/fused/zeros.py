"""Zeros in float32 in the shape of a tensor: initial values of sums.

zeros = 0.

Shapes: x any, of which only the shape is read; zeros has the shape of x.
dtypes: x float16, float32; zeros float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl, tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsZeros", op_mode="static", support_fusion=True)
def zeros_compute(x, zeros, kernel_name="zeros"):
    """Returns the graph of `zeros`."""
    return dsl.broadcast(tvm.const(0.0, "float32"), words.sizes(x))


@para_check.check_op_params(*params(1, 1))
def zeros(x, zeros, kernel_name="zeros"):
    """Builds the kernel."""
    build(zeros_compute, {"x": x}, [zeros], [], kernel_name)
