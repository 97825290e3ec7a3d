"""Softmax of scaled scores.

y = softmax(scale·x) over the last axis.

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


@register_operator_compute("CustomOpsScaleSoftmax", op_mode="static", support_fusion=True)
def scale_softmax_compute(x, y, scale=1.0, kernel_name="scale_softmax"):
    """Returns the graph of `scale_softmax`."""
    return dsl.cast_to(words.softmax(dsl.vmuls(words.wide(x), scale)), x.dtype)


@para_check.check_op_params(*params(1, 1, ("float",)))
def scale_softmax(x, y, scale=1.0, kernel_name="scale_softmax"):
    """Builds the kernel."""
    build(scale_softmax_compute, {"x": x}, [y], [scale], kernel_name)
