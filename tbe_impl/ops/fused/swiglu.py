"""Gated linear unit with swish, of two tensors.

y = swish(gate)·up.

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


@register_operator_compute("CustomOpsSwiGLU", op_mode="static", support_fusion=True)
def swiglu_compute(gate, up, y, kernel_name="swiglu"):
    """Returns the graph of `swiglu`."""
    first, second = words.together(gate, up)
    return dsl.cast_to(dsl.vmul(words.swish(first), second), gate.dtype)


@para_check.check_op_params(*params(2, 1))
def swiglu(gate, up, y, kernel_name="swiglu"):
    """Builds the kernel."""
    build(
        swiglu_compute,
        {"gate": gate, "up": up},
        [y],
        [],
        kernel_name,
        views=of_one_rank(gate=gate, up=up),
    )
