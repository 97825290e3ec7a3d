"""Reduction of the losses of rows: none, mean or sum.

loss = losses, Σ losses / n, or Σ losses; n is the number of labels other than ignore_index.
The comparison of labels is a stage with an explicit expression, which CANN's operations lack.

Shapes: losses and labels (N,); loss (N,) or without axes.
dtypes: losses float32; labels int32; loss float16 for the cube.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

DTYPES = ("float32",)
"""What is summed up."""


@register_operator_compute("CustomOpsLossReduced", op_mode="static", support_fusion=True)
def loss_reduced_compute(
    losses, labels, loss, ignore_index=-100, reduction="mean", kernel_name="loss_reduced"
):
    """Returns the graph of `loss_reduced`."""
    res = losses if reduction == "none" else dsl.reduce_sum(losses, axis=[0])
    if reduction == "mean":
        res = dsl.vdiv(res, dsl.reduce_sum(words.counted(labels, ignore_index), axis=[0]))
    return dsl.cast_to(res, "float16")


@para_check.check_op_params(*params(2, 1, ("int", "str")))
def loss_reduced(
    losses, labels, loss, ignore_index=-100, reduction="mean", kernel_name="loss_reduced"
):
    """Builds the kernel."""
    build(
        loss_reduced_compute,
        {"losses": losses, "labels": labels},
        [loss],
        [ignore_index, reduction],
        kernel_name,
        dtypes={"losses": DTYPES, "labels": ("int32",)},
        by_expression=reduction == "mean",
    )
