"""Cross entropy of a linear layer as CANN builds it: chunk by chunk of rows the logits, and what cross entropy makes of them."""

from __future__ import annotations

from typing import Any

from custom_ops.core.gradient import gradient_of
from custom_ops.operators.products import (
    PRODUCT,
    PRODUCT_OF_ROWS_ADDED,
    PRODUCT_WITH_ROWS,
    ROUNDED,
    ZEROS,
)
from custom_ops.operators.softmax_cross_entropy import SOFTMAX_CROSS_ENTROPY
from custom_ops.tbe_bridge.steps import (
    AnyStep,
    TbeBlocks,
    TbeStep,
    TbeSteps,
    TbeView,
    step_operator,
)

ROWS = 256
"""Of a chunk: so many rows of logits are held."""
_REDUCED: dict[str, Any] = {"ignore_index": -100, "reduction": "mean"}


def _reduced(rows: Any, labels: Any, *, ignore_index: int, reduction: str) -> Any:
    return (rows if reduction == "none" else (),)


LOSS_REDUCED = step_operator(
    "LossReduced",
    ("losses", "labels"),
    ("loss",),
    "loss_reduced",
    _reduced,
    lambda *_: ("float16",),
    "Losses of rows as one.",
    attributes=_REDUCED,
    given={"losses": "float32", "labels": "int32"},
)
LOSS_SLOPES = step_operator(
    "LossSlopes",
    ("grad_loss", "labels"),
    ("slopes",),
    "loss_slopes",
    lambda grad, labels, **_: (labels,),
    lambda *_: ("float32",),
    "The gradient of the loss of each row from that of all of them.",
    attributes=_REDUCED,
    given={"labels": "int32"},
)
_VIEWS = (TbeView("hidden", "rows", kept=1), TbeView("labels", "row_labels"))
_LOGITS = TbeStep(PRODUCT_WITH_ROWS, ("rows", "weight"), ("logits",))
_CUT = {"rows": 0, "row_labels": 0}


def _told(ignore_index: int, label_smoothing: float) -> dict[str, Any]:
    return {"ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": "none"}


def tbe_steps(ignore_index: int, reduction: str, label_smoothing: float) -> TbeSteps:
    """The loss, and ln Σ e^logits of each row."""
    told = {"ignore_index": ignore_index, "reduction": reduction}
    whole = "row_losses" if reduction == "none" else "loss"
    block: tuple[AnyStep, ...] = (
        _LOGITS,
        TbeStep(
            SOFTMAX_CROSS_ENTROPY,
            ("logits", "row_labels"),
            ("losses", "log_of_sum"),
            _told(ignore_index, label_smoothing),
        ),
    )
    steps: tuple[AnyStep, ...] = (
        *_VIEWS,
        TbeBlocks(block, _CUT, ROWS, joined={"losses": 0, "log_of_sum": 0}),
        TbeStep(LOSS_REDUCED, ("losses", "row_labels"), (whole,), told),
    )
    if reduction == "none":
        steps += (TbeView("row_losses", "loss", "labels"),)
    return TbeSteps(steps)


def tbe_gradient_steps(ignore_index: int, reduction: str, label_smoothing: float) -> TbeSteps:
    """The gradients of each chunk's rows, and that of the weight, added up chunk by chunk; logits are made again."""
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
            _told(ignore_index, label_smoothing),
            forward=SOFTMAX_CROSS_ENTROPY,
        ),
        TbeStep(ROUNDED, ("wide",), ("grad_logits",)),
        TbeStep(PRODUCT, ("grad_logits", "weight"), ("grad_rows",)),
        TbeStep(PRODUCT_OF_ROWS_ADDED, ("total", "grad_logits", "rows"), ("next_total",)),
    )
    cut = _CUT | {"log_of_sum": 0, "slopes": 0}
    return TbeSteps(
        (
            *views,
            TbeStep(LOSS_SLOPES, (grad, "row_labels"), ("slopes",), told),
            TbeStep(ZEROS, ("weight",), ("total",)),
            TbeBlocks(block, cut, ROWS, carried={"total": "next_total"}, joined={"grad_rows": 0}),
            TbeStep(ROUNDED, ("total",), ("grad_weight",)),
            TbeView("grad_rows", "grad_hidden", "hidden"),
        )
    )
