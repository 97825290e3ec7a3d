"""Cross entropy of softmax with labels that are probabilities."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import per, sizes, spread, total, wide
from custom_ops.operators.softmax_cross_entropy import (
    as_before,
    log_of_sum,
    log_softmax,
    reduced,
    row_gradient,
    with_rows,
)
from tbe_impl import dsl


def dense_compute(
    logits: Any, labels: Any, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> tuple[Any, Any]:
    """The loss, and ln Σ e^logits of each row."""
    given, goals = with_rows(logits, labels, are_indices=False)
    x = wide(given)
    target = _smoothed(wide(goals, x), label_smoothing)
    sums = log_of_sum(x)
    losses = total(dsl.vmul(target, dsl.vsub(spread(sums, x), x)), [1], keep=False)
    ones = dsl.broadcast(dsl.const(1.0, x.dtype), sizes(losses))
    shape = sizes(logits)[:1] + sizes(logits)[2:] if len(sizes(logits)) > 1 else []
    return dsl.cast_to(reduced(losses, ones, reduction, shape), logits.dtype), sums


def _smoothed(target: Any, label_smoothing: float) -> Any:
    if not label_smoothing:
        return target
    smooth = per(label_smoothing, sizes(target)[1], dtype=target.dtype)
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
    """(softmax·Σ target − target)·grad of the row."""
    given, goals = with_rows(logits, labels, are_indices=False)
    x = wide(given)
    target = _smoothed(wide(goals, x), label_smoothing)
    factor = row_gradient(grad, sums, x, reduction)
    shape = sizes(factor)
    if reduction == "mean":
        factor = dsl.vmuls(factor, per(1, *shape, dtype=factor.dtype))
    column = dsl.ext.reshape(factor, [shape[0], 1, *shape[1:]])
    share = dsl.vmul(dsl.vexp(dsl.vsub(x, spread(sums, x))), spread(total(target, [1]), x))
    made = dsl.vmul(dsl.vsub(share, target), spread(column, x))
    return as_before(dsl.cast_to(made, logits.dtype), logits)


def dense_composite(
    logits: Any, labels: Any, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    """The same from basic operators of MindSpore."""
    return ops.cross_entropy(logits, labels, None, -100, reduction, label_smoothing)


def dense_formula(
    logits: Any, labels: Any, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    """−Σ target·ln softmax(logits), target = (1 − smoothing)·labels + smoothing / classes."""
    axis = min(logits.ndim - 1, 1)
    target = labels * (1 - label_smoothing) + label_smoothing / logits.shape[axis]
    losses = -(target * log_softmax(logits, axis)).sum(axis)
    return {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]


SOFTMAX_CROSS_ENTROPY_DENSE = OpSpec(
    name="SoftmaxCrossEntropyDense",
    inputs=("logits", "labels"),
    outputs=("loss", "log_of_sum"),
    hidden=frozenset({"log_of_sum"}),
    hidden_again=lambda logits, labels, **_: log_of_sum(
        wide(with_rows(logits, labels, are_indices=False)[0])
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
    tbe="fused/softmax_cross_entropy_dense",
    tbe_gradient="fused/softmax_cross_entropy_dense_grad",
    doc="loss = −Σ labels·ln softmax(logits), the mean over rows",
)
