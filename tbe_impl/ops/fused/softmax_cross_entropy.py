"""Cross entropy of softmax with class labels, and ln Σ e^logits.

loss = −(1 − label_smoothing)·ln softmax(logits)[labels] − label_smoothing·mean ln softmax(logits).
The loss is 0 where a label is ignore_index. The output is all losses, their mean over the labels
other than ignore_index, or their sum.
A label selects its class in a stage with an explicit expression, which CANN's operations lack.

Shapes: logits (C,), (N, C) or (N, C, …); labels without the class axis; loss without the class
    axis, or without axes; log_of_sum has the shape of logits with one class.
dtypes: float16, float32; computed in float32. labels are int32; log_of_sum is float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsSoftmaxCrossEntropy", op_mode="static", support_fusion=True)
def softmax_cross_entropy_compute(
    logits,
    labels,
    loss,
    log_of_sum,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy",
):
    """Returns the graph of `softmax_cross_entropy`."""
    given = words.wide(logits)
    logarithm = words.log_of_sum(given)
    # neither a logit that is not named nor a row that does not count may bring its infinity in
    named = dsl.vcmpsel(words.one_hot(labels, words.sizes(logits)), 0.5, "gt", given, 0.0)
    losses = dsl.vsub(logarithm, dsl.reduce_sum(named, axis=1, keepdims=True))
    if label_smoothing:
        smooth = dsl.vmuls(dsl.vsub(logarithm, words.mean(given, [1])), label_smoothing)
        losses = dsl.vadd(dsl.vmuls(losses, 1.0 - label_smoothing), smooth)
    weights = words.counted(labels, ignore_index)
    losses = dsl.vcmpsel(weights, 0.5, "gt", losses, 0.0)
    every = list(range(len(losses.shape)))
    if reduction != "none":
        losses = dsl.reduce_sum(losses, axis=every)
    if reduction == "mean":
        losses = dsl.vdiv(losses, dsl.reduce_sum(weights, axis=every))
    return [dsl.cast_to(losses, logits.dtype), logarithm]


@para_check.check_op_params(*params(2, 2, ("int", "str", "float")))
def softmax_cross_entropy(
    logits,
    labels,
    loss,
    log_of_sum,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy",
):
    """Builds the kernel."""
    shape = list(logits.get("shape"))
    shape = [1, *shape] if len(shape) == 1 else shape
    column = [shape[0], 1, *shape[2:]]
    views = {"logits": shape, "labels": column}
    build(
        softmax_cross_entropy_compute,
        {"logits": logits, "labels": labels},
        [loss, log_of_sum],
        [ignore_index, reduction, label_smoothing],
        kernel_name,
        views=views,
        dtypes={"labels": ("int32",)},
        by_expression=True,
    )
