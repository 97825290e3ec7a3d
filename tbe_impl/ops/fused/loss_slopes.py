"""Gradient of the loss of each row from the gradient of the reduced loss.

slopes = grad_loss, grad_loss / n, or grad_loss, for the reductions none, mean and sum.
n is the number of labels other than ignore_index.
The comparison of labels is a stage with an explicit expression, which CANN's operations lack.

Shapes: grad_loss (N,) or without axes; labels and slopes (N,).
dtypes: grad_loss float16 for the cube; labels int32; slopes float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

DTYPES = ("float16",)
"""What comes back to what the cube was given."""


@register_operator_compute("CustomOpsLossSlopes", op_mode="static", support_fusion=True)
def loss_slopes_compute(
    grad_loss, labels, slopes, ignore_index=-100, reduction="mean", kernel_name="loss_slopes"
):
    """Returns the graph of `loss_slopes`."""
    slope = words.wide(grad_loss)
    if reduction == "mean":
        number = dsl.reduce_sum(words.counted(labels, ignore_index), axis=[0])
        slope = dsl.vdiv(slope, dsl.vmaxs(number, 1.0))
    return words.spread(slope, labels)


@para_check.check_op_params(*params(2, 1, ("int", "str")))
def loss_slopes(
    grad_loss, labels, slopes, ignore_index=-100, reduction="mean", kernel_name="loss_slopes"
):
    """Builds the kernel."""
    shape = labels.get("shape") if reduction == "none" else [1]
    build(
        loss_slopes_compute,
        {"grad_loss": grad_loss, "labels": labels},
        [slopes],
        [ignore_index, reduction],
        kernel_name,
        views={"grad_loss": shape},
        dtypes={"grad_loss": DTYPES, "labels": ("int32",)},
        by_expression=reduction == "mean",
    )
