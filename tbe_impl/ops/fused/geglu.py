"""Gated linear unit with gelu, of two tensors.

y = gelu(gate)·up.

Shapes: the inputs broadcast to one another.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params


@register_operator_compute("CustomOpsGeGLU", op_mode="static", support_fusion=True)
def geglu_compute(gate, up, y, approximate=True, kernel_name="geglu"):
    """Returns the graph of `geglu`."""
    first, second = words.together(gate, up)
    return dsl.cast_to(dsl.vmul(words.gelu(first, approximate), second), gate.dtype)


@para_check.check_op_params(*params(2, 1, ("bool",)))
def geglu(gate, up, y, approximate=True, kernel_name="geglu"):
    """Builds the kernel."""
    build(
        geglu_compute,
        {"gate": gate, "up": up},
        [y],
        [approximate],
        kernel_name,
        views=of_one_rank(gate=gate, up=up),
    )
