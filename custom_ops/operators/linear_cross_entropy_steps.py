"""Builds CANN operator sequences for linear cross entropy; they loop over chunks of rows."""

from __future__ import annotations

from typing import Any

from custom_ops.core.gradient import gradient_of
from custom_ops.core.operator_spec import FOR_SUMS
from custom_ops.core.row_helpers import broadcast_like
from custom_ops.operators.matmul_steps import (
    CAST_TO_FLOAT16,
    PRODUCT,
    PRODUCT_OF_ROWS_ACCUMULATION,
    PRODUCT_WITH_ROWS,
    ZEROS,
)
from custom_ops.operators.softmax_cross_entropy import SOFTMAX_CROSS_ENTROPY
from custom_ops.tbe_bridge.tbe_sequence import (
    AnyStep,
    TbeBlocks,
    TbeStep,
    TbeSteps,
    TbeView,
    step_operator,
)
from tbe_impl import dsl
from tbe_impl.dsl.expr import const, select

ROWS = 256
"""Number of rows in a chunk; limits the memory for the logits."""
_REDUCTION_ATTRIBUTES: dict[str, Any] = {"ignore_index": -100, "reduction": "mean"}


def _count_labels(labels: Any, ignore_index: int) -> Any:
    """Returns the number of labels other than `ignore_index`, with shape (1,)."""
    marks = dsl.compute(
        labels.shape,
        lambda *i: select(
            labels(*i).equal(ignore_index), const(0.0, "float32"), const(1.0, "float32")
        ),
        "counted",
    )
    return dsl.reduce_sum(marks, axis=[0])


def _reduce_loss(losses: Any, labels: Any, *, ignore_index: int, reduction: str) -> Any:
    if reduction == "none":
        return dsl.cast_to(losses, "float16")
    found = dsl.reduce_sum(losses, axis=[0])
    if reduction == "mean":
        found = dsl.vdiv(found, _count_labels(labels, ignore_index))
    return dsl.ext.reshape(dsl.cast_to(found, "float16"), [])


def _loss_slopes(grad_loss: Any, labels: Any, *, ignore_index: int, reduction: str) -> Any:
    slope = dsl.cast_to(grad_loss, "float32")
    if reduction == "none":
        return slope
    slope = dsl.ext.reshape(slope, [1])
    if reduction == "mean":
        slope = dsl.vdiv(slope, dsl.vmaxs(_count_labels(labels, ignore_index), 1.0))
    return broadcast_like(slope, labels)


LOSS_REDUCTION = step_operator(
    "LossReduced",
    ("losses", "labels"),
    ("loss",),
    _reduce_loss,
    lambda *_: ("float16",),
    "Reduces the losses of rows.",
    tbe=FOR_SUMS,
    attributes=_REDUCTION_ATTRIBUTES,
    given={"losses": "float32", "labels": "int32"},
)
LOSS_SLOPES = step_operator(
    "LossSlopes",
    ("grad_loss", "labels"),
    ("slopes",),
    _loss_slopes,
    lambda *_: ("float32",),
    "Gradient of each row's loss from that of the reduced loss.",
    attributes=_REDUCTION_ATTRIBUTES,
    given={"labels": "int32"},
)
_VIEWS = (TbeView("hidden", "rows", kept=1), TbeView("labels", "row_labels"))
_LOGITS = TbeStep(PRODUCT_WITH_ROWS, ("rows", "weight"), ("logits",))
_CUT_AXES = {"rows": 0, "row_labels": 0}


def _loss_attributes(ignore_index: int, label_smoothing: float) -> dict[str, Any]:
    return {"ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": "none"}


def tbe_steps(ignore_index: int, reduction: str, label_smoothing: float) -> TbeSteps:
    """Returns the CANN operators that compute the loss and each row's log-sum-exp."""
    told = {"ignore_index": ignore_index, "reduction": reduction}
    whole = "row_losses" if reduction == "none" else "loss"
    block: tuple[AnyStep, ...] = (
        _LOGITS,
        TbeStep(
            SOFTMAX_CROSS_ENTROPY,
            ("logits", "row_labels"),
            ("losses", "log_of_sum"),
            _loss_attributes(ignore_index, label_smoothing),
        ),
    )
    steps: tuple[AnyStep, ...] = (
        *_VIEWS,
        TbeBlocks(block, _CUT_AXES, ROWS, joined={"losses": 0, "log_of_sum": 0}),
        TbeStep(LOSS_REDUCTION, ("losses", "row_labels"), (whole,), told),
    )
    if reduction == "none":
        steps += (TbeView("row_losses", "loss", "labels"),)
    return TbeSteps(steps)


def tbe_gradient_steps(ignore_index: int, reduction: str, label_smoothing: float) -> TbeSteps:
    """Returns the CANN operators of backward; they recompute the logits of each chunk of rows.

    For each chunk, the operators write the gradient of the chunk's rows of ``hidden``. The
    operators also add the chunk's contribution to the gradient of the weight.
    """
    told = {"ignore_index": ignore_index, "reduction": reduction}
    views: tuple[AnyStep, ...] = _VIEWS
    grad = "grad_loss"
    if reduction == "none":
        grad = "row_grads"
        views += (TbeView("grad_loss", grad),)
    slope = gradient_of(SOFTMAX_CROSS_ENTROPY)
    block: tuple[AnyStep, ...] = (
        _LOGITS,
        TbeStep(
            slope,
            ("logits", "row_labels", "log_of_sum", "slopes"),
            ("wide",),
            _loss_attributes(ignore_index, label_smoothing),
            forward=SOFTMAX_CROSS_ENTROPY,
        ),
        TbeStep(CAST_TO_FLOAT16, ("wide",), ("grad_logits",)),
        TbeStep(PRODUCT, ("grad_logits", "weight"), ("grad_rows",)),
        TbeStep(PRODUCT_OF_ROWS_ACCUMULATION, ("total", "grad_logits", "rows"), ("next_total",)),
    )
    cut = _CUT_AXES | {"log_of_sum": 0, "slopes": 0}
    return TbeSteps(
        (
            *views,
            TbeStep(LOSS_SLOPES, (grad, "row_labels"), ("slopes",), told),
            TbeStep(ZEROS, ("weight",), ("total",)),
            TbeBlocks(block, cut, ROWS, carried={"total": "next_total"}, joined={"grad_rows": 0}),
            TbeStep(CAST_TO_FLOAT16, ("total",), ("grad_weight",)),
            TbeView("grad_rows", "grad_hidden", "hidden"),
        )
    )
