"""Gaussian error linear unit.

y = x·Φ(x); `approximate` selects the tanh approximation.

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


@register_operator_compute("CustomOpsGELU", op_mode="static", support_fusion=True)
def gelu_compute(x, y, approximate=True, kernel_name="gelu"):
    """Returns the graph of `gelu`."""
    return dsl.cast_to(words.gelu(words.wide(x), approximate), x.dtype)


@para_check.check_op_params(*params(1, 1, ("bool",)))
def gelu(x, y, approximate=True, kernel_name="gelu"):
    """Builds the kernel."""
    build(gelu_compute, {"x": x}, [y], [approximate], kernel_name)
