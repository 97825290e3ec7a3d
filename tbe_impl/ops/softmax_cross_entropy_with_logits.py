"""Cross entropy of softmax with labels, and its gradient.

loss = −Σ labels·ln softmax(features)
backprop = softmax(features)·Σ labels − labels
Σ and softmax are taken over the last axis.

Shapes: features, labels and backprop (N, C); loss (N,).
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported, the rank is not 2, or the shapes differ.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits_compute(
    features, labels, loss, backprop, kernel_name="softmax_cross_entropy_with_logits"
):
    """Builds the DSL graph and returns the two output tensors."""
    shape, dtype = shape_util.shape_to_list(features.shape), features.dtype
    wide, goal = te.lang.cce.cast_to(features, "float32"), te.lang.cce.cast_to(labels, "float32")
    largest = te.lang.cce.reduce_max(wide, axis=-1, keepdims=True, priority_flag=True)
    shifted = te.lang.cce.vsub(wide, te.lang.cce.broadcast(largest, shape))
    power = te.lang.cce.vexp(shifted)
    total = te.lang.cce.sum(power, axis=-1, keepdims=True)
    logarithm = te.lang.cce.vsub(shifted, te.lang.cce.broadcast(te.lang.cce.vlog(total), shape))
    each = te.lang.cce.vmuls(te.lang.cce.vmul(goal, logarithm), -1.0)
    share = te.lang.cce.vdiv(power, te.lang.cce.broadcast(total, shape))
    weight = te.lang.cce.broadcast(te.lang.cce.sum(goal, axis=-1, keepdims=True), shape)
    gradient = te.lang.cce.vsub(te.lang.cce.vmul(share, weight), goal)
    loss_sum = te.lang.cce.sum(each, axis=-1)
    return [te.lang.cce.cast_to(loss_sum, dtype), te.lang.cce.cast_to(gradient, dtype)]


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.KERNEL_NAME,
)
def softmax_cross_entropy_with_logits(
    features, labels, loss, backprop, kernel_name="softmax_cross_entropy_with_logits"
):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"features": features, "labels": labels},
        ("float16", "float32"),
        lambda features, labels: softmax_cross_entropy_with_logits_compute(
            features, labels, loss, backprop, kernel_name
        ),
        equal=("shape",),
        min_rank=2,
        max_rank=2,
    )
