"""Rotary position embedding.

y = x·cos + partner(x)·sin.
The partner of a pair (a, b) is (−b, a). A pair has one element of each half, or two neighbouring
elements.

Shapes: x (…, size) with an even size; cos and sin broadcast to x.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, in_pairs, params


@register_operator_compute("CustomOpsRotaryEmbedding", op_mode="static", support_fusion=True)
def rotary_embedding_compute(x, cos, sin, y, layout="halves", kernel_name="rotary_embedding"):
    """Returns the graph of `rotary_embedding`."""
    given, cosine, sine = words.together(x, cos, sin)
    turned = dsl.vmul(words.partner(given, layout, 1.0), sine)
    return dsl.cast_to(dsl.vadd(dsl.vmul(given, cosine), turned), x.dtype)


@para_check.check_op_params(*params(3, 1, ("str",)))
def rotary_embedding(x, cos, sin, y, layout="halves", kernel_name="rotary_embedding"):
    """Builds the kernel."""
    pairs = -1 if layout == "interleaved" else -2
    views = in_pairs(pairs, x=x, cos=cos, sin=sin)
    build(
        rotary_embedding_compute,
        {"x": x, "cos": cos, "sin": sin},
        [y],
        [layout],
        kernel_name,
        views=views,
    )
