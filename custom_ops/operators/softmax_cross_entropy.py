"""Computes softmax cross entropy with index labels, forward and backward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from custom_ops.core.cell_call import check_choice
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import (
    broadcast_like,
    check_shape,
    divide_by_sizes,
    sizes,
    total,
    widen,
)
from custom_ops.operators.softmax import log_formula, softmax_terms
from tbe_impl import dsl
from tbe_impl.errors import InputError

REDUCTIONS = ("none", "mean", "sum")


def add_row_axis(logits: Any, labels: Any, *, are_indices: bool) -> tuple[Any, Any]:
    """Returns logits and labels; if logits has the shape (C,), adds a row axis to both.

    In the result, axis 1 of the logits is the class axis.

    Raises:
        InputError: logits has no axis, or the shape of the labels does not match the logits.
    """
    shape = sizes(logits)
    if not shape:
        raise InputError(
            "SoftmaxCrossEntropy: logits has no class axis", expected="one axis or more", got="()"
        )
    wanted = shape
    if are_indices:
        wanted = [] if len(shape) == 1 else [shape[0], *shape[2:]]
    check_shape(labels, wanted, "SoftmaxCrossEntropy", "labels")
    if len(shape) == 1:
        return dsl.ext.reshape(logits, [1, *shape]), dsl.ext.reshape(labels, [1, *wanted])
    return logits, labels


def check_arguments(reduction: str, label_smoothing: float, place: str) -> None:
    """Raises `InputError` for an unknown reduction, or a label smoothing outside of [0, 1]."""
    check_choice(place, "reduction", reduction, REDUCTIONS, ", ")
    if not 0 <= label_smoothing <= 1:
        raise InputError(
            f"{place}: label_smoothing is out of range",
            place=place,
            expected="0 to 1",
            got=repr(label_smoothing),
        )


def log_sum_exp(x: Any) -> Any:
    """Returns ln Σ e^x over axis 1; the result keeps this axis with size 1."""
    largest, _, _, sums = softmax_terms(x, 1)
    return dsl.vadd(largest, dsl.vlog(sums))


def _drop_class_axis(tensor: Any) -> Any:
    shape = sizes(tensor)
    return dsl.ext.reshape(tensor, [shape[0], *shape[2:]])


def _valid_label_mask(labels: Any, ignore_index: int, dtype: str) -> Any:
    """Returns a tensor that is 0 where the label equals `ignore_index`, and 1 elsewhere."""
    one, nothing = dsl.const(1.0, dtype), dsl.const(0.0, dtype)
    return dsl.compute(
        sizes(labels),
        lambda *i: dsl.select(labels(*i).equal(ignore_index), nothing, one),
        "counted",
    )


def _gather_by_label(x: Any, labels: Any, ignore_index: int, weight: Any = None) -> Any:
    """Gathers, for each row of `x`, the logit of the class that is the row's label.

    The result is 0 for an ignored label, and NaN for a label out of range.

    Args:
        x: the logits, with classes along axis 1.
        labels: one label for each row.
        ignore_index: the ignored label.
        weight: class weights, or None. If `weight` is given, the function gathers the weight of the
            class instead of the logit.
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


def _class_weights(weight: Any, x: Any) -> Any:
    """Returns the class weights in the dtype of x.

    Raises:
        InputError: the number of weights is not the number of classes.
    """
    check_shape(weight, [sizes(x)[1]], "SoftmaxCrossEntropy", "weight")
    return widen(weight, x)


def _broadcast_class_weights(weight: Any, x: Any) -> Any:
    """Broadcasts the class weights along axis 1 to the shape of x."""
    column = dsl.ext.reshape(weight, [1, sizes(x)[1], *[1] * (len(sizes(x)) - 2)])
    return broadcast_like(column, x)


def reduce_losses(losses: Any, weights: Any, reduction: str, shape: list[int]) -> Any:
    """Reduces the losses of the rows; ``mean`` is (sum of the losses) / (sum of `weights`)."""
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
    """Returns the loss, and ln Σ e^logits of each row."""
    given, places = add_row_axis(logits, labels, are_indices=True)
    x = widen(given)
    sums = log_sum_exp(x)
    rows = _drop_class_axis(sums)
    counted = weights = _valid_label_mask(places, ignore_index, x.dtype)
    losses = dsl.vsub(rows, _gather_by_label(x, places, ignore_index))
    if weight is not None:
        own = _class_weights(weight, x)
        weights = _gather_by_label(x, places, ignore_index, own)
        losses = dsl.vmul(losses, weights)
    if label_smoothing:
        share = divide_by_sizes(1, sizes(x)[1], dtype=x.dtype)
        if weight is None:
            smooth = dsl.vsub(rows, dsl.vmuls(total(x, [1], keep=False), share))
        else:
            below = dsl.vmul(dsl.vsub(broadcast_like(sums, x), x), _broadcast_class_weights(own, x))
            smooth = dsl.vmuls(total(below, [1], keep=False), share)
        losses = dsl.vadd(
            dsl.vmuls(losses, 1 - label_smoothing), dsl.vmuls(smooth, label_smoothing)
        )
    zero = dsl.broadcast(dsl.const(0.0, x.dtype), sizes(losses))
    # a select instead of a product, because losses of ignored rows may be infinite
    losses = dsl.vcmpsel(counted, 0.5, "gt", losses, zero)
    loss = reduce_losses(losses, weights, reduction, sizes(labels))
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
    """Returns the gradient of the logits.

    The gradient is (softmax·Σ target − target)·(gradient of the row's loss). For ignored rows the
    gradient is 0. `given` contains the class weights, if the operator has any, and then the
    gradient of the loss.
    """
    rows, places = add_row_axis(logits, labels, are_indices=True)
    *weight, grad = given
    x, classes = widen(rows), sizes(rows)[1]
    factor = row_gradient(grad, places, x, reduction)
    counted = weights = _valid_label_mask(places, ignore_index, x.dtype)
    own = _class_weights(weight[0], x) if weight else None
    if own is not None:
        weights = _gather_by_label(x, places, ignore_index, own)
    if reduction == "mean":
        axes = list(range(len(sizes(weights))))
        share = dsl.vrec(total(weights, axes))
        factor = dsl.vmul(factor, broadcast_like(share, factor))
    factor = dsl.vmul(factor, counted)
    hot, cold = (dsl.const(value, x.dtype) for value in (1 - label_smoothing, 0.0))
    target = dsl.compute(
        sizes(x),
        lambda *i: dsl.select(places(i[0], *i[2:]).equal(i[1]), hot, cold),
        "target",
    )
    if label_smoothing:
        target = dsl.vadds(target, divide_by_sizes(label_smoothing, classes, dtype=x.dtype))
    share = dsl.vexp(dsl.vsub(x, broadcast_like(sums, x)))
    if own is not None:
        target = dsl.vmul(target, _broadcast_class_weights(own, x))
        mass = dsl.vmuls(weights, 1 - label_smoothing)
        if label_smoothing:
            mean = dsl.vmuls(
                total(own, [0]), divide_by_sizes(label_smoothing, classes, dtype=x.dtype)
            )
            mass = dsl.vadd(mass, broadcast_like(_column(mean, mass), mass))
        share = dsl.vmul(share, broadcast_like(add_class_axis(mass), x))
    made = dsl.vmul(dsl.vsub(share, target), broadcast_like(add_class_axis(factor), x))
    return reshape_like(dsl.cast_to(made, logits.dtype), logits)


def add_class_axis(rows: Any) -> Any:
    """Adds a class axis of size 1 to a tensor that has one value per row."""
    shape = sizes(rows)
    return dsl.ext.reshape(rows, [shape[0], 1, *shape[1:]])


def _column(number: Any, rows: Any) -> Any:
    return dsl.ext.reshape(number, [1] * len(sizes(rows)))


def reshape_like(tensor: Any, like: Any) -> Any:
    """Reshapes a tensor to the shape of `like`; if the shapes are equal, returns the tensor."""
    shape = sizes(like)
    return tensor if sizes(tensor) == shape else dsl.ext.reshape(tensor, shape)


def row_gradient(grad: Any, rows: Any, x: Any, reduction: str) -> Any:
    """Returns the gradient of each row's loss; for ``mean``, the caller divides the result.

    The gradient of a reduced loss is broadcast to all rows. If the reduction is ``mean``, the
    caller has to divide the result by the number or weight of the rows.
    """
    shape = [sizes(x)[0], *sizes(x)[2:]]
    if reduction == "none":
        return dsl.ext.reshape(widen(grad, x), shape)
    return dsl.broadcast(dsl.ext.reshape(widen(grad, x), [1] * len(shape)), shape)


def composite(
    logits: Any,
    labels: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.cross_entropy(logits, labels, None, ignore_index, reduction, label_smoothing)


def weighted_composite(
    logits: Any,
    labels: Any,
    weight: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Computes the operator with class weights; uses MindSpore's basic operators."""
    return ops.cross_entropy(logits, labels, weight, ignore_index, reduction, label_smoothing)


def formula(
    logits: Any,
    labels: Any,
    *weight: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Computes −Σ w·target·ln softmax(logits) of each row, then applies `reduction`.

    Here w are the class weights, and
    target = (1 − label_smoothing)·[class is label] + label_smoothing / (number of classes).
    """
    axis = min(logits.ndim - 1, 1)
    logs = log_formula(logits, axis=axis)
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


def _recompute_log_sum_exp(logits: Any, labels: Any, *_: Any, **__: Any) -> Any:
    return log_sum_exp(widen(add_row_axis(logits, labels, are_indices=True)[0]))


SOFTMAX_CROSS_ENTROPY = OpSpec(
    name="SoftmaxCrossEntropy",
    inputs=("logits", "labels"),
    outputs=("loss", "log_of_sum"),
    hidden=frozenset({"log_of_sum"}),
    recompute_hidden=_recompute_log_sum_exp,
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
    doc="loss = −weight[labels]·ln softmax(logits)[labels], the weighted mean over rows",
)
