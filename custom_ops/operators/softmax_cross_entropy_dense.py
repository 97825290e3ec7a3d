"""Computes softmax cross entropy with probability labels, forward and backward."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import broadcast_like, divide_by_sizes, sizes, total, widen
from custom_ops.operators.softmax import log_formula
from custom_ops.operators.softmax_cross_entropy import (
    add_row_axis,
    log_sum_exp,
    reduce_losses,
    reshape_like,
    row_gradient,
)
from tbe_impl import dsl


def dense_compute(
    logits: Any, labels: Any, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> tuple[Any, Any]:
    """Returns the loss, and ln Σ e^logits of each row."""
    given, goals = add_row_axis(logits, labels, are_indices=False)
    x = widen(given)
    target = _smooth_labels(widen(goals, x), label_smoothing)
    sums = log_sum_exp(x)
    losses = total(dsl.vmul(target, dsl.vsub(broadcast_like(sums, x), x)), [1], keep=False)
    ones = dsl.broadcast(dsl.const(1.0, x.dtype), sizes(losses))
    shape = sizes(logits)[:1] + sizes(logits)[2:] if len(sizes(logits)) > 1 else []
    return dsl.cast_to(reduce_losses(losses, ones, reduction, shape), logits.dtype), sums


def _smooth_labels(target: Any, label_smoothing: float) -> Any:
    if not label_smoothing:
        return target
    smooth = divide_by_sizes(label_smoothing, sizes(target)[1], dtype=target.dtype)
    return dsl.vadds(dsl.vmuls(target, 1 - label_smoothing), smooth)


def dense_gradient(
    logits: Any,
    labels: Any,
    sums: Any,
    grad: Any,
    *,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Returns the gradient of the logits.

    The gradient is (softmax·Σ target − target)·(gradient of the row's loss).
    """
    given, goals = add_row_axis(logits, labels, are_indices=False)
    x = widen(given)
    target = _smooth_labels(widen(goals, x), label_smoothing)
    factor = row_gradient(grad, sums, x, reduction)
    shape = sizes(factor)
    if reduction == "mean":
        factor = dsl.vmuls(factor, divide_by_sizes(1, *shape, dtype=factor.dtype))
    column = dsl.ext.reshape(factor, [shape[0], 1, *shape[1:]])
    share = dsl.vmul(
        dsl.vexp(dsl.vsub(x, broadcast_like(sums, x))), broadcast_like(total(target, [1]), x)
    )
    made = dsl.vmul(dsl.vsub(share, target), broadcast_like(column, x))
    return reshape_like(dsl.cast_to(made, logits.dtype), logits)


def dense_composite(
    logits: Any, labels: Any, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.cross_entropy(logits, labels, None, -100, reduction, label_smoothing)


def dense_formula(
    logits: Any, labels: Any, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    """Computes −Σ target·ln softmax(logits) of each row, then applies `reduction`.

    Here target = (1 − label_smoothing)·labels + label_smoothing / (number of classes).
    """
    axis = min(logits.ndim - 1, 1)
    target = labels * (1 - label_smoothing) + label_smoothing / logits.shape[axis]
    losses = -(target * log_formula(logits, axis=axis)).sum(axis)
    return {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]


SOFTMAX_CROSS_ENTROPY_DENSE = OpSpec(
    name="SoftmaxCrossEntropyDense",
    inputs=("logits", "labels"),
    outputs=("loss", "log_of_sum"),
    hidden=frozenset({"log_of_sum"}),
    recompute_hidden=lambda logits, labels, **_: log_sum_exp(
        widen(add_row_axis(logits, labels, are_indices=False)[0])
    ),
    undifferentiable=frozenset({"labels"}),
    forward=dense_compute,
    backward=dense_gradient,
    saves=("logits", "labels", "log_of_sum"),
    attributes={"reduction": "mean", "label_smoothing": 0.0},
    composite=dense_composite,
    formula=dense_formula,
    samples=(((6, 40), (6, 40)), ((5, 10, 3, 4), (5, 10, 3, 4)), ((12,), (12,))),
    ranges={"labels": (0.0, 1.0)},
    nan="undefined",
    doc="loss = −Σ labels·ln softmax(logits), the mean over rows",
)
