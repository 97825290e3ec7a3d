"""Cross entropy of softmax with class labels and class weights, and ln Σ e^logits.

loss = −Σ weight·target·ln softmax(logits)
where target = (1 − label_smoothing)·[class is label] + label_smoothing / C.
The loss is 0 where a label is ignore_index. The output is all losses, their sum divided by the sum
of the weights of the other labels, or their sum.
A label selects its class in a stage with an explicit expression, which CANN's operations lack.

Shapes: logits (C,), (N, C) or (N, C, …); labels without the class axis; weight (C,); loss
    without the class axis, or without axes; log_of_sum has the shape of logits with one class.
dtypes: float16, float32; computed in float32. labels are int32; log_of_sum is float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute(
    "CustomOpsSoftmaxCrossEntropyWeighted", op_mode="static", support_fusion=True
)
def softmax_cross_entropy_weighted_compute(
    logits,
    labels,
    weight,
    loss,
    log_of_sum,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_weighted",
):
    """Returns the graph of `softmax_cross_entropy_weighted`."""
    given, own = words.wide(logits), words.spread(words.wide(weight), logits)
    logarithm = words.log_of_sum(given)
    hot = words.one_hot(labels, words.sizes(logits))
    target = dsl.vmul(words.smoothed(hot, label_smoothing), own)
    below = dsl.vsub(words.spread(logarithm, logits), given)
    counted = words.counted(labels, ignore_index)
    # neither a logit that is not named nor a row that does not count may bring its infinity in
    parts = dsl.vcmpsel(target, 0.0, "eq", 0.0, dsl.vmul(target, below))
    losses = dsl.reduce_sum(parts, axis=1, keepdims=True)
    losses = dsl.vcmpsel(counted, 0.5, "gt", losses, 0.0)
    every = list(range(len(losses.shape)))
    if reduction != "none":
        losses = dsl.reduce_sum(losses, axis=every)
    if reduction == "mean":
        named = dsl.reduce_sum(dsl.vmul(hot, own), axis=1, keepdims=True)
        losses = dsl.vdiv(losses, dsl.reduce_sum(dsl.vmul(named, counted), axis=every))
    return [dsl.cast_to(losses, logits.dtype), logarithm]


@para_check.check_op_params(*params(3, 2, ("int", "str", "float")))
def softmax_cross_entropy_weighted(
    logits,
    labels,
    weight,
    loss,
    log_of_sum,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_weighted",
):
    """Builds the kernel."""
    shape = list(logits.get("shape"))
    shape = [1, *shape] if len(shape) == 1 else shape
    column = [shape[0], 1, *shape[2:]]
    views = {"logits": shape, "labels": column, "weight": [1, shape[1], *[1] * len(shape[2:])]}
    build(
        softmax_cross_entropy_weighted_compute,
        {"logits": logits, "labels": labels, "weight": weight},
        [loss, log_of_sum],
        [ignore_index, reduction, label_smoothing],
        kernel_name,
        views=views,
        dtypes={"labels": ("int32",)},
        by_expression=True,
    )
