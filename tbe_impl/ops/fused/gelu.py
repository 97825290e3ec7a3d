"""Gaussian error linear unit.

y = x·Φ(x), by its formula with tanh where `approximate` is set.

Shapes: all the same. dtypes: float16, float32; computed in float32. Errors: another dtype: the error of `para_check`.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsGELU", op_mode="static", support_fusion=True)
def gelu_compute(x, y, approximate=True, kernel_name="gelu"):
    """The graph of `gelu`."""
    return dsl.cast_to(words.gelu(words.wide(x), approximate), x.dtype)


@para_check.check_op_params(*params(1, 1, ("bool",)))
def gelu(x, y, approximate=True, kernel_name="gelu"):
    """Builds the kernel."""
    build(gelu_compute, {"x": x}, [y], [approximate], kernel_name)
