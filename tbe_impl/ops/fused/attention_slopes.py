"""Recomputed weights of a block of keys, and the gradient of its products.

weights = e^(s − normaliser)
slopes = scale·weights·(grad_weights − share)
s is defined as in `attention_weights`. Both are 0 for a query without any key.
scale is 1 / √D where `by_width` is set. A mask is read only where `masked` is set.

Shapes: scores, grad_weights, weights and slopes (…, Q, K); normaliser (…, Q);
    share (…, Q, 1); key_places (1, K); query_places (Q, 1); mask broadcasts to scores;
    q (…, Q, D), of which only the shape is read.
dtypes: float32; mask also bool, int8, float16; q, weights and slopes float16 for the cube.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params

DTYPES = ("float32",)
"""What is summed up."""
OTHER_DTYPES = {"mask": ("float16", "float32")}
"""Dtypes of a mask besides bool; float32 if another tensor takes its place and is not read."""


@register_operator_compute("CustomOpsAttentionSlopes", op_mode="static", support_fusion=True)
def attention_slopes_compute(
    scores,
    grad_weights,
    normaliser,
    share,
    mask,
    key_places,
    query_places,
    q,
    weights,
    slopes,
    is_causal=False,
    masked=False,
    scale=1.0,
    by_width=False,
    kernel_name="attention_slopes",
):
    """Returns the graph of `attention_slopes`."""
    left = words.masked_scores(
        scores, mask if masked else None, (key_places, query_places) if is_causal else None
    )
    middle = dsl.vmaxs(normaliser, words.LOWEST)
    power = dsl.vexp(dsl.vsub(left, words.spread(middle, left)))
    rest = dsl.vsub(grad_weights, words.spread(share, grad_weights))
    scale = words.sizes(q)[-1] ** -0.5 if by_width else scale
    made = [power, dsl.vmuls(dsl.vmul(power, rest), scale)]
    return words.narrow(made, "float16")


@para_check.check_op_params(*params(8, 2, ("bool", "bool", "float", "bool")))
def attention_slopes(
    scores,
    grad_weights,
    normaliser,
    share,
    mask,
    key_places,
    query_places,
    q,
    weights,
    slopes,
    is_causal=False,
    masked=False,
    scale=1.0,
    by_width=False,
    kernel_name="attention_slopes",
):
    """Builds the kernel."""
    given = {
        "scores": scores,
        "grad_weights": grad_weights,
        "normaliser": normaliser,
        "share": share,
        "mask": mask,
        "key_places": key_places,
        "query_places": query_places,
        "q": q,
    }
    build(
        attention_slopes_compute,
        given,
        [weights, slopes],
        [is_causal, masked, scale, by_width],
        kernel_name,
        views=of_one_rank(**given) | {"normaliser": share.get("shape")},
        dtypes=dict.fromkeys(given, DTYPES) | {"mask": words.MASKS, "q": ("float16",)},
    )
