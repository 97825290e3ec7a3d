"""Gradient of cross entropy of softmax with class labels and class weights.

grad_logits = (softmax(logits)·Σ target − target)·grad_loss
where target = weight·((1 − label_smoothing)·[class is label] + label_smoothing / C).
The gradient is 0 where a label is ignore_index. For the mean, it is divided by the sum of the
weights of the other labels.
A label selects its class in a stage with an explicit expression.

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
    "CustomOpsSoftmaxCrossEntropyWeightedGrad", op_mode="static", support_fusion=True
)
def softmax_cross_entropy_weighted_grad_compute(
    logits,
    labels,
    log_of_sum,
    weight,
    grad_loss,
    grad_logits,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_weighted_grad",
):
    """Returns the graph of `softmax_cross_entropy_weighted_grad`."""
    given, own = words.wide(logits), words.spread(words.wide(weight), logits)
    counted = words.counted(labels, ignore_index)
    hot = words.one_hot(labels, words.sizes(logits))
    target = dsl.vmul(words.smoothed(hot, label_smoothing), own)
    mass = dsl.reduce_sum(target, axis=1, keepdims=True)
    share = dsl.vexp(dsl.vsub(given, words.spread(log_of_sum, logits)))
    factor = dsl.vmul(words.spread(words.wide(grad_loss), counted), counted)
    if reduction == "mean":
        named = dsl.reduce_sum(dsl.vmul(hot, own), axis=1, keepdims=True)
        every = list(range(len(named.shape)))
        number = dsl.reduce_sum(dsl.vmul(named, counted), axis=every, keepdims=True)
        factor = dsl.vdiv(factor, words.spread(number, counted))
    rest = dsl.vsub(dsl.vmul(share, words.spread(mass, logits)), target)
    return dsl.cast_to(dsl.vmul(rest, words.spread(factor, logits)), logits.dtype)


@para_check.check_op_params(*params(5, 1, ("int", "str", "float")))
def softmax_cross_entropy_weighted_grad(
    logits,
    labels,
    log_of_sum,
    weight,
    grad_loss,
    grad_logits,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_weighted_grad",
):
    """Builds the kernel."""
    shape = list(logits.get("shape"))
    shape = [1, *shape] if len(shape) == 1 else shape
    column = [shape[0], 1, *shape[2:]]
    rows = column if reduction == "none" else [1] * len(shape)
    views = {
        "logits": shape,
        "labels": column,
        "log_of_sum": column,
        "weight": [1, shape[1], *[1] * len(shape[2:])],
        "grad_loss": rows,
    }
    given = (logits, labels, log_of_sum, weight, grad_loss)
    build(
        softmax_cross_entropy_weighted_grad_compute,
        dict(zip(views, given, strict=True)),
        [grad_logits],
        [ignore_index, reduction, label_smoothing],
        kernel_name,
        views=views,
        dtypes={"labels": ("int32",)},
        by_expression=True,
    )
