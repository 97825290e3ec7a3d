"""Gradient of rotary position embedding: the rotation by the opposite angle.

grad_x = grad_y·cos + partner(grad_y·sin).
The partner of a pair (a, b) is (b, −a).

Shapes: grad_y (…, size) with an even size; cos and sin broadcast to grad_y.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, in_pairs, params


@register_operator_compute("CustomOpsRotaryEmbeddingGrad", op_mode="static", support_fusion=True)
def rotary_embedding_grad_compute(
    cos, sin, grad_y, grad_x, layout="halves", kernel_name="rotary_embedding_grad"
):
    """Returns the graph of `rotary_embedding_grad`."""
    cosine, sine, grad = words.together(cos, sin, grad_y)
    turned = words.partner(dsl.vmul(grad, sine), layout, -1.0)
    return dsl.cast_to(dsl.vadd(dsl.vmul(grad, cosine), turned), grad_y.dtype)


@para_check.check_op_params(*params(3, 1, ("str",)))
def rotary_embedding_grad(
    cos, sin, grad_y, grad_x, layout="halves", kernel_name="rotary_embedding_grad"
):
    """Builds the kernel."""
    pairs = -1 if layout == "interleaved" else -2
    views = in_pairs(pairs, grad_y=grad_y, cos=cos, sin=sin)
    build(
        rotary_embedding_grad_compute,
        {"cos": cos, "sin": sin, "grad_y": grad_y},
        [grad_x],
        [layout],
        kernel_name,
        views=views,
    )
