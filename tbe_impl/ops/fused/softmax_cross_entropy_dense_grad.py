"""Gradient of cross entropy of softmax with label probabilities.

grad_logits = (softmax(logits)·Σ target − target)·grad_loss
where target = (1 − label_smoothing)·labels + label_smoothing / C.
For the mean, grad_logits is divided by the number of losses.

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
    "CustomOpsSoftmaxCrossEntropyDenseGrad", op_mode="static", support_fusion=True
)
def softmax_cross_entropy_dense_grad_compute(
    logits,
    labels,
    log_of_sum,
    grad_loss,
    grad_logits,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_dense_grad",
):
    """Returns the graph of `softmax_cross_entropy_dense_grad`."""
    given, target = words.wide(logits), words.smoothed(words.wide(labels), label_smoothing)
    weight = dsl.reduce_sum(target, axis=1, keepdims=True)
    share = dsl.vexp(dsl.vsub(given, words.spread(log_of_sum, logits)))
    rest = dsl.vsub(dsl.vmul(share, words.spread(weight, logits)), target)
    number = words.count(log_of_sum, range(len(log_of_sum.shape))) if reduction == "mean" else 1
    factor = dsl.vmuls(words.wide(grad_loss), 1.0 / number)
    return dsl.cast_to(dsl.vmul(rest, words.spread(factor, logits)), logits.dtype)


@para_check.check_op_params(*params(4, 1, ("str", "float")))
def softmax_cross_entropy_dense_grad(
    logits,
    labels,
    log_of_sum,
    grad_loss,
    grad_logits,
    reduction="mean",
    label_smoothing=0.0,
    kernel_name="softmax_cross_entropy_dense_grad",
):
    """Builds the kernel."""
    shape = list(logits.get("shape"))
    shape = [1, *shape] if len(shape) == 1 else shape
    column = [shape[0], 1, *shape[2:]]
    rows = column if reduction == "none" else [1] * len(shape)
    views = {"logits": shape, "labels": shape, "log_of_sum": column, "grad_loss": rows}
    build(
        softmax_cross_entropy_dense_grad_compute,
        {"logits": logits, "labels": labels, "log_of_sum": log_of_sum, "grad_loss": grad_loss},
        [grad_logits],
        [reduction, label_smoothing],
        kernel_name,
        views=views,
    )
