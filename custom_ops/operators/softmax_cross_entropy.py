"""Cross entropy of softmax with labels that are indices or probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.called import Called
from custom_ops.cell import FusedCell
from custom_ops.framework import HAS_MINDSPORE, ms, ops
from custom_ops.operators.softmax import shifted
from custom_ops.rows import check_shape, per, sizes, spread, total, wide
from custom_ops.specs import OpSpec
from tbe_impl import dsl
from tbe_impl.errors import InputError

REDUCTIONS = ("none", "mean", "sum")


def _with_rows(logits: Any, labels: Any, *, are_indices: bool) -> tuple[Any, Any]:
    """Both with an axis of rows; the classes are axis 1.

    Raises:
        InputError: the labels do not fit.
    """
    shape = sizes(logits)
    if not shape:
        raise InputError("SoftmaxCrossEntropy: logits without classes", expected="one axis or more", got="()")  # fmt: skip
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


def _labelled(x: Any, labels: Any, ignore_index: int) -> Any:
    """The element of each row that its label names: 0 for one that does not count, NaN for one that there is not."""
    classes, dtype = sizes(x)[1], x.dtype
    nothing, unknown = dsl.const(0.0, dtype), dsl.const(float("nan"), dtype)

    def pick(*at: Any) -> Any:
        label = labels(*at)
        below, above = label < 0, label >= classes
        place = dsl.select(below, 0, dsl.select(above, 0, label))
        found = dsl.select(below, unknown, dsl.select(above, unknown, x(at[0], place, *at[1:])))
        return dsl.select(label.equal(ignore_index), nothing, found)

    return dsl.compute(sizes(labels), pick, "labelled")


def _reduced(losses: Any, weights: Any, reduction: str, shape: list[int]) -> Any:
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
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> tuple[Any, Any]:
    """The loss, and ln Σ e^logits of each row."""
    given, places = _with_rows(logits, labels, are_indices=True)
    x = wide(given)
    sums = log_of_sum(x)
    rows = _without_classes(sums)
    weights = _counted(places, ignore_index, x.dtype)
    losses = dsl.vsub(rows, _labelled(x, places, ignore_index))
    if label_smoothing:
        classes = sizes(x)[1]
        smooth = dsl.vsub(
            rows, dsl.vmuls(total(x, [1], keep=False), per(1, classes, dtype=x.dtype))
        )
        losses = dsl.vadd(
            dsl.vmuls(losses, 1 - label_smoothing), dsl.vmuls(smooth, label_smoothing)
        )
    zero = dsl.broadcast(dsl.const(0.0, x.dtype), sizes(losses))
    # what does not count may be infinite
    losses = dsl.vcmpsel(weights, 0.5, "gt", losses, zero)
    loss = _reduced(losses, weights, reduction, sizes(labels))
    return dsl.cast_to(loss, logits.dtype), sums


def gradient(
    logits: Any,
    labels: Any,
    sums: Any,
    grad: Any,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """(softmax − labels)·grad of the row, 0 where it does not count."""
    given, places = _with_rows(logits, labels, are_indices=True)
    x, classes = wide(given), sizes(given)[1]
    factor = _row_gradient(grad, places, x, reduction)
    weights = _counted(places, ignore_index, x.dtype)
    if reduction == "mean":
        axes = list(range(len(sizes(weights))))
        share = dsl.vrec(total(weights, axes))
        factor = dsl.vmul(factor, spread(share, factor))
    factor = dsl.vmul(factor, weights)
    hot, cold = (dsl.const(value, x.dtype) for value in (1 - label_smoothing, 0.0))
    target = dsl.compute(
        sizes(x),
        lambda *i: dsl.select(places(i[0], *i[2:]).equal(i[1]), hot, cold),
        "target",
    )
    if label_smoothing:
        target = dsl.vadds(target, per(label_smoothing, classes, dtype=x.dtype))
    share = dsl.vexp(dsl.vsub(x, spread(sums, x)))
    shape = sizes(factor)
    column = dsl.ext.reshape(factor, [shape[0], 1, *shape[1:]])
    made = dsl.vmul(dsl.vsub(share, target), spread(column, x))
    return as_before(dsl.cast_to(made, logits.dtype), logits)


def as_before(tensor: Any, like: Any) -> Any:
    """A tensor in the shape of another; one that has it is not copied."""
    shape = sizes(like)
    return tensor if sizes(tensor) == shape else dsl.ext.reshape(tensor, shape)


def _row_gradient(grad: Any, rows: Any, x: Any, reduction: str) -> Any:
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


def _log_softmax(x: Any, axis: int) -> Any:
    distance = x - x.max(axis, keepdims=True, initial=-np.inf)
    return distance - np.log(np.exp(distance).sum(axis, keepdims=True))


def formula(
    logits: Any,
    labels: Any,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """−Σ target·ln softmax(logits), target = (1 − smoothing)·[class is label] + smoothing / classes."""
    axis = min(logits.ndim - 1, 1)
    logs = _log_softmax(logits, axis)
    counted = labels != ignore_index
    places = np.expand_dims(np.where(counted, labels, 0), axis)
    one = np.take_along_axis(logs, places, axis).squeeze(axis)
    losses = -(1 - label_smoothing) * one - label_smoothing * logs.mean(axis)
    losses = np.where(counted, losses, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() / (counted.sum() if reduction == "mean" else 1)


SOFTMAX_CROSS_ENTROPY = OpSpec(
    name="SoftmaxCrossEntropy",
    inputs=("logits", "labels"),
    outputs=("loss", "log_of_sum"),
    hidden=frozenset({"log_of_sum"}),
    hidden_again=lambda logits, labels, **_: log_of_sum(
        wide(_with_rows(logits, labels, are_indices=True)[0])
    ),
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


def dense_compute(
    logits: Any, labels: Any, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> tuple[Any, Any]:
    """The loss, and ln Σ e^logits of each row."""
    given, goals = _with_rows(logits, labels, are_indices=False)
    x = wide(given)
    target = _smoothed(wide(goals, x), label_smoothing)
    sums = log_of_sum(x)
    losses = total(dsl.vmul(target, dsl.vsub(spread(sums, x), x)), [1], keep=False)
    ones = dsl.broadcast(dsl.const(1.0, x.dtype), sizes(losses))
    shape = sizes(logits)[:1] + sizes(logits)[2:] if len(sizes(logits)) > 1 else []
    return dsl.cast_to(_reduced(losses, ones, reduction, shape), logits.dtype), sums


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
    given, goals = _with_rows(logits, labels, are_indices=False)
    x = wide(given)
    target = _smoothed(wide(goals, x), label_smoothing)
    factor = _row_gradient(grad, sums, x, reduction)
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
    losses = -(target * _log_softmax(logits, axis)).sum(axis)
    return {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]


SOFTMAX_CROSS_ENTROPY_DENSE = OpSpec(
    name="SoftmaxCrossEntropyDense",
    inputs=("logits", "labels"),
    outputs=("loss", "log_of_sum"),
    hidden=frozenset({"log_of_sum"}),
    hidden_again=lambda logits, labels, **_: log_of_sum(
        wide(_with_rows(logits, labels, are_indices=False)[0])
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


class SoftmaxCrossEntropy(Called):
    r"""Cross entropy of softmax with labels, in the place of `mindspore.nn.CrossEntropyLoss`.

    .. math::
        \ell = -\sum_c t_c \ln \frac{e^{x_c}}{\sum_j e^{x_j}}, \quad
        t_c = (1 - \epsilon) \cdot y_c + \frac{\epsilon}{C}

    Args:
        ignore_index (int): rows with this label do not count. Default: ``-100``.
        reduction (str): ``none``, ``mean`` (of the rows that count) or ``sum``. Default: ``'mean'``.
        label_smoothing (float): :math:`\epsilon`, 0 to 1. Default: ``0.0``.
        route (str): ``native``, ``composite``, or empty for the default.

    Inputs:
        - **logits** (Tensor) - (C,), (N, C) or (N, C, …); float16, bfloat16, float32 or float64.
        - **labels** (Tensor) - int32 or int64 indices, of the shape of logits without C; or probabilities of the shape of
          logits. They get no gradient.

    Outputs:
        Tensor: the loss, of one number or of the shape of the indices; a row whose index is no class has the loss NaN.

    Raises:
        InputError: an unknown reduction, a smoothing out of range, or labels that do not fit.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import SoftmaxCrossEntropy
        >>> SoftmaxCrossEntropy().forward(np.zeros((2, 2), np.float32), np.int32([0, 1]))
        array(0.6931472, dtype=float32)
    """

    def __init__(
        self,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        route: str = "",
    ):
        super().__init__()
        check_arguments(reduction, label_smoothing, "SoftmaxCrossEntropy")
        shared = {"reduction": reduction, "label_smoothing": float(label_smoothing)}
        kinds = {"ignore_index": int(ignore_index), **shared}, shared
        for name, value in (("spec", SOFTMAX_CROSS_ENTROPY), ("kinds", kinds), ("attributes", kinds[0])):  # fmt: skip
            object.__setattr__(self, name, value)
        self.of_indices = FusedCell(SOFTMAX_CROSS_ENTROPY, kinds[0], route)
        self.of_shares = FusedCell(SOFTMAX_CROSS_ENTROPY_DENSE, kinds[1], route)
        if HAS_MINDSPORE:
            self.index_dtypes = (ms.int32, ms.int64)

    @classmethod
    def from_cells(cls, loss: Any, route: str = "") -> Any:
        """One in the place of an `nn.CrossEntropyLoss` without weights of classes.

        Raises:
            InputError: it has weights.
        """
        if loss.weight is not None:
            raise InputError(
                "SoftmaxCrossEntropy has no weights of classes",
                place="SoftmaxCrossEntropy",
                remedy="Keep nn.CrossEntropyLoss",
            )
        return cls(loss.ignore_index, loss.reduction, loss.label_smoothing, route)

    def construct(self, logits: Any, labels: Any) -> Any:
        """One kernel, or basic operators."""
        if labels.dtype in self.index_dtypes:
            return self.of_indices(logits, labels)
        return self.of_shares(logits, labels)

    def forward(self, *arrays: Any) -> Any:
        """The loss; the arrays are kept for `backward`."""
        dense = len(arrays) > 1 and np.asarray(arrays[1]).dtype.kind not in "iu"
        spec = SOFTMAX_CROSS_ENTROPY_DENSE if dense else SOFTMAX_CROSS_ENTROPY
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "attributes", self.kinds[dense])
        return super().forward(*arrays)
