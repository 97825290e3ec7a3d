"""Attention weights of a block of keys in streaming softmax.

most' = max(most, max s)
weights = e^(s − most')
share = e^(most − most')
total' = total·share + Σ weights
where s are the masked scores:

- a bool or int8 mask sets s to −∞ where it is 1 and keeps the scores where it is 0;
- any other mask is added to the scores;
- is_causal sets s to −∞ where the place of the key is after the place of the query.

A mask is read only where `masked` is set. A query without any key keeps most = −∞ and total = 0.

Shapes: scores and weights (…, Q, K); most, total and share (…, Q, 1); key_places (1, K);
    query_places (Q, 1); mask broadcasts to scores.
dtypes: float32; mask also bool, int8, float16; weights float16 for the cube.
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


@register_operator_compute("CustomOpsAttentionWeights", op_mode="static", support_fusion=True)
def attention_weights_compute(
    scores,
    most,
    total,
    mask,
    key_places,
    query_places,
    weights,
    next_most,
    next_total,
    share,
    is_causal=False,
    masked=False,
    kernel_name="attention_weights",
):
    """Returns the graph of `attention_weights`."""
    left = words.masked_scores(
        scores, mask if masked else None, (key_places, query_places) if is_causal else None
    )
    largest = dsl.reduce_max(left, axis=-1, keepdims=True, impl_mode="high_precision")
    largest = dsl.vmax(most, largest)
    middle = dsl.vmaxs(largest, words.LOWEST)
    power = dsl.vexp(dsl.vsub(left, words.spread(middle, left)))
    rest = dsl.vexp(dsl.vsub(most, middle))
    summed = dsl.vadd(dsl.vmul(total, rest), dsl.reduce_sum(power, axis=-1, keepdims=True))
    return [dsl.cast_to(power, "float16"), largest, summed, rest]


@para_check.check_op_params(*params(6, 4, ("bool", "bool")))
def attention_weights(
    scores,
    most,
    total,
    mask,
    key_places,
    query_places,
    weights,
    next_most,
    next_total,
    share,
    is_causal=False,
    masked=False,
    kernel_name="attention_weights",
):
    """Builds the kernel."""
    given = {
        "scores": scores,
        "most": most,
        "total": total,
        "mask": mask,
        "key_places": key_places,
        "query_places": query_places,
    }
    build(
        attention_weights_compute,
        given,
        [weights, next_most, next_total, share],
        [is_causal, masked],
        kernel_name,
        views=of_one_rank(**given),
        dtypes=dict.fromkeys(given, DTYPES) | {"mask": words.MASKS},
    )
