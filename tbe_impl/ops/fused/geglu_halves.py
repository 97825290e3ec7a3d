"""Gated linear unit with gelu, of the halves of a tensor.

y = gelu(first half)·second half; the halves are those of the last axis.

Shapes: x has an even size in its last axis; y has half of it.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsGeGLUHalves", op_mode="static", support_fusion=True)
def geglu_halves_compute(x, y, approximate=True, kernel_name="geglu_halves"):
    """Returns the graph of `geglu_halves`."""
    first, second = words.halves(words.wide(x))
    return dsl.cast_to(dsl.vmul(words.gelu(first, approximate), second), x.dtype)


@para_check.check_op_params(*params(1, 1, ("bool",)))
def geglu_halves(x, y, approximate=True, kernel_name="geglu_halves"):
    """Builds the kernel."""
    build(geglu_halves_compute, {"x": x}, [y], [approximate], kernel_name)
