"""Cross entropy of softmax with label probabilities, and ln Σ e^logits.

loss = −Σ target·ln softmax(logits) over the classes
where target = (1 − label_smoothing)·labels + label_smoothing / C.
The output is all losses, their mean or their sum.

Shapes: logits and labels (C,), (N, C) or (N, C, …); loss without the class axis, or without
    axes; log_of_sum has the shape of logits with one class.
dtypes: float16, float32; computed in float32. log_of_sum is float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute(
    "CustomOpsSoftmaxCrossEntropyDense", op_mode="static", support_fusion=True
)
def softmax_cross_entropy_dense_compute(
    logits,
    labels,
    loss,
    log_of_sum,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_dense",
):
    """Returns the graph of `softmax_cross_entropy_dense`."""
    given, target = words.wide(logits), words.smoothed(words.wide(labels), label_smoothing)
    logarithm = words.log_of_sum(given)
    each = dsl.vmul(target, dsl.vsub(words.spread(logarithm, logits), given))
    losses = dsl.reduce_sum(each, axis=1, keepdims=True)
    number = words.count(losses, range(len(losses.shape)))
    if reduction != "none":
        losses = dsl.reduce_sum(losses, axis=list(range(len(losses.shape))))
    if reduction == "mean":
        losses = dsl.vmuls(losses, 1.0 / number)
    return [dsl.cast_to(losses, logits.dtype), logarithm]


@para_check.check_op_params(*params(2, 2, ("str", "float")))
def softmax_cross_entropy_dense(
    logits,
    labels,
    loss,
    log_of_sum,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_dense",
):
    """Builds the kernel."""
    shape = list(logits.get("shape"))
    shape = [1, *shape] if len(shape) == 1 else shape
    views = {"logits": shape, "labels": shape}
    build(
        softmax_cross_entropy_dense_compute,
        {"logits": logits, "labels": labels},
        [loss, log_of_sum],
        [reduction, label_smoothing],
        kernel_name,
        views=views,
    )
