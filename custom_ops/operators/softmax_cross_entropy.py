"""Cross entropy of softmax with labels that are indices, and what it shares with that of probabilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import check_shape, per, sizes, spread, total, wide
from custom_ops.operators.softmax import shifted
from tbe_impl import dsl
from tbe_impl.errors import InputError

REDUCTIONS = ("none", "mean", "sum")


def with_rows(logits: Any, labels: Any, *, are_indices: bool) -> tuple[Any, Any]:
    """Both with an axis of rows; the classes are axis 1.

    Raises:
        InputError: the labels do not fit.
    """
    shape = sizes(logits)
    if not shape:
        raise InputError(
            "SoftmaxCrossEntropy: logits without classes", expected="one axis or more", got="()"
        )
    wanted = shape
    if are_indices:
        wanted = [] if len(shape) == 1 else [shape[0], *shape[2:]]
    check_shape(labels, wanted, "SoftmaxCrossEntropy", "labels")
    if len(shape) == 1:
        return dsl.ext.reshape(logits, [1, *shape]), dsl.ext.reshape(labels, [1, *wanted])
    return logits, labels


def check_arguments(reduction: str, label_smoothing: float, place: str) -> None:
    """Raises `InputError` for an unknown reduction, or a smoothing outside of 0 to 1."""
    if reduction not in REDUCTIONS:
        raise InputError(
            f"{place}: unknown reduction",
            place=place,
            expected=", ".join(REDUCTIONS),
            got=repr(reduction),
        )
    if not 0 <= label_smoothing <= 1:
        raise InputError(
            f"{place}: label_smoothing is out of range",
            place=place,
            expected="0 to 1",
            got=repr(label_smoothing),
        )


def log_of_sum(x: Any) -> Any:
    """ln Σ e^x over axis 1 of a tensor that is wide, which stays with size 1."""
    largest, _, _, sums = shifted(x, 1)
    return dsl.vadd(largest, dsl.vlog(sums))


def _without_classes(tensor: Any) -> Any:
    shape = sizes(tensor)
    return dsl.ext.reshape(tensor, [shape[0], *shape[2:]])


def _counted(labels: Any, ignore_index: int, dtype: str) -> Any:
    """1 for each label that counts, else 0."""
    one, nothing = dsl.const(1.0, dtype), dsl.const(0.0, dtype)
    return dsl.compute(
        sizes(labels),
        lambda *i: dsl.select(labels(*i).equal(ignore_index), nothing, one),
        "counted",
    )


def _labelled(x: Any, labels: Any, ignore_index: int, weight: Any = None) -> Any:
    """The element of each row that its label names: 0 for one that does not count, NaN for one that there is not.

    Args:
        x: the rows.
        labels: one for each.
        ignore_index: what does not count.
        weight: where there is one, its element is given instead.
    """
    classes, dtype = sizes(x)[1], x.dtype
    nothing, unknown = dsl.const(0.0, dtype), dsl.const(float("nan"), dtype)

    def pick(*at: Any) -> Any:
        label = labels(*at)
        below, above = label < 0, label >= classes
        place = dsl.select(below, 0, dsl.select(above, 0, label))
        element = x(at[0], place, *at[1:]) if weight is None else weight(place)
        found = dsl.select(below, unknown, dsl.select(above, unknown, element))
        return dsl.select(label.equal(ignore_index), nothing, found)

    return dsl.compute(sizes(labels), pick, "labelled")


def _of_classes(weight: Any, x: Any) -> Any:
    """The weights of classes in the dtype of x.

    Raises:
        InputError: they do not fit.
    """
    check_shape(weight, [sizes(x)[1]], "SoftmaxCrossEntropy", "weight")
    return wide(weight, x)


def _beside(weight: Any, x: Any) -> Any:
    """The weights of classes along axis 1 of x, spread to its shape."""
    column = dsl.ext.reshape(weight, [1, sizes(x)[1], *[1] * (len(sizes(x)) - 2)])
    return spread(column, x)


def reduced(losses: Any, weights: Any, reduction: str, shape: list[int]) -> Any:
    """The losses together; the mean is that of the weights."""
    axes = list(range(len(sizes(losses))))
    if reduction == "none":
        return dsl.ext.reshape(losses, shape)
    made = total(losses, axes, keep=False)
    if reduction == "mean":
        made = dsl.vdiv(made, total(weights, axes, keep=False))
    return dsl.ext.reshape(made, [])


def compute(
    logits: Any,
    labels: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> tuple[Any, Any]:
    """The loss, and ln Σ e^logits of each row."""
    given, places = with_rows(logits, labels, are_indices=True)
    x = wide(given)
    sums = log_of_sum(x)
    rows = _without_classes(sums)
    counted = weights = _counted(places, ignore_index, x.dtype)
    losses = dsl.vsub(rows, _labelled(x, places, ignore_index))
    if weight is not None:
        own = _of_classes(weight, x)
        weights = _labelled(x, places, ignore_index, own)
        losses = dsl.vmul(losses, weights)
    if label_smoothing:
        share = per(1, sizes(x)[1], dtype=x.dtype)
        if weight is None:
            smooth = dsl.vsub(rows, dsl.vmuls(total(x, [1], keep=False), share))
        else:
            below = dsl.vmul(dsl.vsub(spread(sums, x), x), _beside(own, x))
            smooth = dsl.vmuls(total(below, [1], keep=False), share)
        losses = dsl.vadd(
            dsl.vmuls(losses, 1 - label_smoothing), dsl.vmuls(smooth, label_smoothing)
        )
    zero = dsl.broadcast(dsl.const(0.0, x.dtype), sizes(losses))
    # what does not count may be infinite
    losses = dsl.vcmpsel(counted, 0.5, "gt", losses, zero)
    loss = reduced(losses, weights, reduction, sizes(labels))
    return dsl.cast_to(loss, logits.dtype), sums


def gradient(
    logits: Any,
    labels: Any,
    sums: Any,
    *given: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """(softmax·Σ target − target)·grad of the row, 0 where it does not count; given are the weights, if any, and grad."""
    rows, places = with_rows(logits, labels, are_indices=True)
    *weight, grad = given
    x, classes = wide(rows), sizes(rows)[1]
    factor = row_gradient(grad, places, x, reduction)
    counted = weights = _counted(places, ignore_index, x.dtype)
    own = _of_classes(weight[0], x) if weight else None
    if own is not None:
        weights = _labelled(x, places, ignore_index, own)
    if reduction == "mean":
        axes = list(range(len(sizes(weights))))
        share = dsl.vrec(total(weights, axes))
        factor = dsl.vmul(factor, spread(share, factor))
    factor = dsl.vmul(factor, counted)
    hot, cold = (dsl.const(value, x.dtype) for value in (1 - label_smoothing, 0.0))
    target = dsl.compute(
        sizes(x),
        lambda *i: dsl.select(places(i[0], *i[2:]).equal(i[1]), hot, cold),
        "target",
    )
    if label_smoothing:
        target = dsl.vadds(target, per(label_smoothing, classes, dtype=x.dtype))
    share = dsl.vexp(dsl.vsub(x, spread(sums, x)))
    if own is not None:
        target = dsl.vmul(target, _beside(own, x))
        mass = dsl.vmuls(weights, 1 - label_smoothing)
        if label_smoothing:
            mean = dsl.vmuls(total(own, [0]), per(label_smoothing, classes, dtype=x.dtype))
            mass = dsl.vadd(mass, spread(_column(mean, mass), mass))
        share = dsl.vmul(share, spread(with_class(mass), x))
    made = dsl.vmul(dsl.vsub(share, target), spread(with_class(factor), x))
    return as_before(dsl.cast_to(made, logits.dtype), logits)


def with_class(rows: Any) -> Any:
    """A number of each row with an axis for the classes."""
    shape = sizes(rows)
    return dsl.ext.reshape(rows, [shape[0], 1, *shape[1:]])


def _column(number: Any, rows: Any) -> Any:
    return dsl.ext.reshape(number, [1] * len(sizes(rows)))


def as_before(tensor: Any, like: Any) -> Any:
    """A tensor in the shape of another; one that has it is not copied."""
    shape = sizes(like)
    return tensor if sizes(tensor) == shape else dsl.ext.reshape(tensor, shape)


def row_gradient(grad: Any, rows: Any, x: Any, reduction: str) -> Any:
    """The gradient of the loss as that of each row."""
    shape = [sizes(x)[0], *sizes(x)[2:]]
    if reduction == "none":
        return dsl.ext.reshape(wide(grad, x), shape)
    return dsl.broadcast(dsl.ext.reshape(wide(grad, x), [1] * len(shape)), shape)


def composite(
    logits: Any,
    labels: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The same from basic operators of MindSpore."""
    return ops.cross_entropy(logits, labels, None, ignore_index, reduction, label_smoothing)


def weighted_composite(
    logits: Any,
    labels: Any,
    weight: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The same with weights of classes."""
    return ops.cross_entropy(logits, labels, weight, ignore_index, reduction, label_smoothing)


def log_softmax(x: Any, axis: int) -> Any:
    distance = x - x.max(axis, keepdims=True, initial=-np.inf)
    return distance - np.log(np.exp(distance).sum(axis, keepdims=True))


def formula(
    logits: Any,
    labels: Any,
    *weight: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """−Σ w·target·ln softmax(logits), target = (1 − smoothing)·[class is label] + smoothing / classes."""
    axis = min(logits.ndim - 1, 1)
    logs = log_softmax(logits, axis)
    counted = labels != ignore_index
    labels = np.where(counted, labels, 0)
    shares = counted.astype(logits.dtype)
    for one in weight:
        logs = logs * one.reshape(-1, *[1] * (logits.ndim - 1 - axis))
        shares = shares * one[labels]
    places = np.expand_dims(labels, axis)
    one = np.take_along_axis(logs, places, axis).squeeze(axis)
    losses = -(1 - label_smoothing) * one - label_smoothing * logs.mean(axis)
    losses = np.where(counted, losses, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() / (shares.sum() if reduction == "mean" else 1)


def _log_of_sum_again(logits: Any, labels: Any, *_: Any, **__: Any) -> Any:
    return log_of_sum(wide(with_rows(logits, labels, are_indices=True)[0]))


SOFTMAX_CROSS_ENTROPY = OpSpec(
    name="SoftmaxCrossEntropy",
    inputs=("logits", "labels"),
    outputs=("loss", "log_of_sum"),
    hidden=frozenset({"log_of_sum"}),
    hidden_again=_log_of_sum_again,
    undifferentiable=frozenset({"labels"}),
    forward=compute,
    backward=gradient,
    saves=("logits", "labels", "log_of_sum"),
    attributes={"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0},
    composite=composite,
    formula=formula,
    samples=(((6, 40), (6,)), ((5, 10, 3, 4), (5, 3, 4)), ((7, 1000), (7,)), ((12,), ())),
    integers={"labels": ("int32", 10)},
    nan="undefined",
    tbe="fused/softmax_cross_entropy",
    tbe_gradient="fused/softmax_cross_entropy_grad",
    doc="loss = −ln softmax(logits)[labels], the mean over rows",
)
SOFTMAX_CROSS_ENTROPY_WEIGHTED = replace(
    SOFTMAX_CROSS_ENTROPY,
    name="SoftmaxCrossEntropyWeighted",
    inputs=("logits", "labels", "weight"),
    undifferentiable=frozenset({"labels", "weight"}),
    saves=("logits", "labels", "log_of_sum", "weight"),
    variants=({"label_smoothing": 0.1, "ignore_index": 3},),
    composite=weighted_composite,
    samples=tuple(
        (*shapes, shapes[0][min(len(shapes[0]) - 1, 1) :][:1])
        for shapes in SOFTMAX_CROSS_ENTROPY.samples
    ),
    ranges={"weight": (0.5, 2.0)},
    tbe="fused/softmax_cross_entropy_weighted",
    tbe_gradient="fused/softmax_cross_entropy_weighted_grad",
    doc="loss = −weight[labels]·ln softmax(logits)[labels], the weighted mean over rows",
)
