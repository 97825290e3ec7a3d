"""Computes the cross entropy of a linear layer in chunks of rows; never stores all logits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.lru_cache import LruCache
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.weighted_cells import WeightedCell, make_parameter
from custom_ops.onednn import prepare_matmul
from custom_ops.operators import linear_cross_entropy_steps as steps
from custom_ops.operators import softmax_cross_entropy as cross_entropy
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel

SHARE, LEAST_ROWS, MOST_ROWS = 4, 64, 512
"""A chunk has 1 / `SHARE` of all rows, but at least `LEAST_ROWS` and at most `MOST_ROWS` rows.

Larger chunks make matrix products more efficient, but need more memory.
"""
TILE = 1024
"""Number of rows of the weight's gradient that are accumulated at a time, to fit in the cache."""
Shape = tuple[int, ...]


def chunks_of(rows: int) -> Iterator[slice]:
    """Yields the row slice of each chunk."""
    size = min(max(rows // SHARE, LEAST_ROWS), MOST_ROWS)
    for begin in range(0, rows, size):
        yield slice(begin, min(begin + size, rows))


_IN_PLACE_KERNELS: LruCache[tuple[Any, ...], Kernel] = LruCache(64)
"""Dict from (computation, shapes and dtypes of the inputs) to a kernel that overwrites an input."""


def _kernel(spec: OpSpec, shapes: Any, smoothing: float, ignored: int, *, over: bool) -> Kernel:
    attributes = {"ignore_index": ignored, "reduction": "none", "label_smoothing": smoothing}
    computed = computation_of(spec, attribute_key(spec, attributes))
    given = [ArraySpec.from_array(array) for array in shapes]
    found = computed.build_for_fixed_sizes(given)
    assert isinstance(found, Kernel)
    if not over:
        return found
    key = (computed, *given)
    kept = _IN_PLACE_KERNELS.get(key)
    if kept is None:
        kept = _IN_PLACE_KERNELS[key] = found.with_options(inplace=True)
    return kept


def _widen(array: np.ndarray) -> np.ndarray:
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def _product(a: np.ndarray, b: np.ndarray, *, turn_a: bool = False, turn_b: bool = False) -> Any:
    """Returns the matrix product a · b; `turn_a` transposes a first, and `turn_b` transposes b.

    Float32 products run in oneDNN, and products of other dtypes run in NumPy.
    """
    if a.dtype == np.float32:
        prepared = prepare_matmul(a.shape, b.shape, transpose_a=turn_a, transpose_b=turn_b)
        return prepared.call((a, b))[0]
    return np.matmul(a.T if turn_a else a, b.T if turn_b else b)


def forward(
    hidden: np.ndarray,
    weight: np.ndarray,
    labels: np.ndarray,
    loss: np.ndarray,
    sums: np.ndarray,
    *,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> None:
    """Writes the loss to `loss`, and the log-sum-exp of the logits of each row to `sums`."""
    given, table, places = hidden.reshape(-1, hidden.shape[-1]), _widen(weight), labels.reshape(-1)
    losses = np.empty(len(places), table.dtype)
    for rows in chunks_of(len(places)):
        logits = _product(_widen(given[rows]), table, turn_b=True)
        kernel = _kernel(
            cross_entropy.SOFTMAX_CROSS_ENTROPY,
            (logits, places[rows]),
            label_smoothing,
            ignore_index,
            over=False,
        )
        losses[rows], found = kernel(logits, places[rows])
        sums[rows] = found
    if reduction == "none":
        loss[...] = losses.reshape(loss.shape)
        return
    total = losses.sum(dtype=np.float64)
    count = np.count_nonzero(places != ignore_index) if reduction == "mean" else 1
    loss[...] = total / count if count else np.nan


def backward(
    hidden: np.ndarray,
    weight: np.ndarray,
    labels: np.ndarray,
    sums: np.ndarray,
    grad: np.ndarray,
    of_hidden: np.ndarray,
    of_weight: np.ndarray,
    *,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> None:
    """Writes the gradients of hidden and weight; recomputes the logits of each chunk of rows."""
    given, table, places = hidden.reshape(-1, hidden.shape[-1]), _widen(weight), labels.reshape(-1)
    made = of_hidden.reshape(given.shape)
    summed = of_weight if of_weight.dtype == table.dtype else np.empty(weight.shape, table.dtype)
    summed[...] = 0
    slope = _widen(grad).reshape(-1)
    if reduction == "mean":
        slope = slope / max(np.count_nonzero(places != ignore_index), 1)
    slopes = np.ascontiguousarray(np.broadcast_to(slope.astype(table.dtype), len(places)))
    for rows in chunks_of(len(places)):
        chunk = _widen(given[rows])
        logits = _product(chunk, table, turn_b=True)
        arrays = (logits, places[rows], sums[rows], slopes[rows])
        gradient = gradient_of(cross_entropy.SOFTMAX_CROSS_ENTROPY)
        kernel = _kernel(gradient, arrays, label_smoothing, ignore_index, over=True)
        of_logits = kernel(*arrays)
        made[rows] = _product(of_logits, table)
        for begin in range(0, len(table), TILE):
            tile = slice(begin, begin + TILE)
            summed[tile] += _product(of_logits[:, tile], chunk, turn_a=True)
    if summed is not of_weight:
        of_weight[...] = summed


def _shapes(
    hidden: Shape, weight: Shape, labels: Shape, *, reduction: str, **_: Any
) -> tuple[Shape, Shape]:
    """Returns two shapes: that of the loss, and that of the saved log-sum-exp of each row.

    Raises:
        InputError: the shapes do not match.
    """
    if len(hidden) < 2 or len(weight) != 2 or weight[1] != hidden[-1]:
        raise InputError(
            "LinearCrossEntropy: the weight does not fit",
            place="LinearCrossEntropy",
            expected=f"(classes, {hidden[-1] if hidden else 'size'})",
            got=f"{shape_text(weight)} for hidden {shape_text(hidden)}",
        )
    if labels != hidden[:-1]:
        raise InputError(
            "LinearCrossEntropy: labels has a wrong shape",
            place="LinearCrossEntropy",
            expected=shape_text(hidden[:-1]),
            got=shape_text(labels),
        )
    rows = int(np.prod(labels, dtype=np.int64))
    return labels if reduction == "none" else (), (rows, 1)


def _dtypes(hidden: str, weight: str, labels: str) -> tuple[str, str]:
    if hidden != weight or labels not in ("int32", "int64"):
        raise InputError(
            "LinearCrossEntropy: the dtypes do not fit",
            place="LinearCrossEntropy",
            expected="hidden and weight of one dtype, labels int32 or int64",
            got=f"{hidden}, {weight}, {labels}",
        )
    return hidden, "float64" if hidden == "float64" else "float32"


def composite(
    hidden: Any,
    weight: Any,
    labels: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Computes this operator with MindSpore's basic operators, which store all logits."""
    rows = ops.reshape(hidden, (-1, hidden.shape[-1]))
    logits = ops.matmul(rows, ops.transpose(weight, (1, 0)))
    found = ops.cross_entropy(
        logits, ops.reshape(labels, (-1,)), None, ignore_index, reduction, label_smoothing
    )
    return ops.reshape(found, labels.shape) if reduction == "none" else found


def formula(hidden: Any, weight: Any, labels: Any, *, reduction: str = "mean", **more: Any) -> Any:
    """Returns the cross entropy of the logits hidden · weightᵀ with the labels."""
    logits = hidden.reshape(-1, hidden.shape[-1]) @ weight.T
    found = cross_entropy.formula(logits, labels.reshape(-1), reduction=reduction, **more)
    return found.reshape(labels.shape) if reduction == "none" else found


LINEAR_CROSS_ENTROPY = OpSpec(
    name="LinearCrossEntropy",
    inputs=("hidden", "weight", "labels"),
    outputs=("loss", "log_of_sum"),
    hidden=frozenset({"log_of_sum"}),
    undifferentiable=frozenset({"labels"}),
    procedure=forward,
    backward_procedure=backward,
    saves=("hidden", "weight", "labels", "log_of_sum"),
    attributes={"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0},
    infer_shape=_shapes,
    infer_dtype=_dtypes,
    composite=composite,
    formula=formula,
    samples=(((6, 8), (20, 8), (6,)), ((2, 35, 16), (11, 16), (2, 35))),
    integers={"labels": ("int32", 10)},
    tbe_steps=steps.tbe_steps,
    tbe_gradient_steps=steps.tbe_gradient_steps,
    nan="undefined",
    doc="loss = −ln softmax(hidden · weightᵀ)[labels], the mean over rows",
)


class LinearCrossEntropy(WeightedCell):
    r"""Linear layer with cross entropy, computed in chunks of rows; never stores all logits.

    .. math::
        \ell = \mathrm{CrossEntropy}(h \cdot W^T, \mathrm{labels})

    Forward computes the logits of one chunk of rows at a time. Backward recomputes these logits.
    The logits of all rows are therefore never in memory together.

    Args:
        in_channels (int): number of elements of a row of hidden.
        out_channels (int): number of classes.
        weight_init: initial values of the weight. Default: ``'normal'``.
        ignore_index, reduction, label_smoothing: as for `SoftmaxCrossEntropy`.
        dtype: dtype of the weight. Default: ``mindspore.float32``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **hidden** (Tensor) - (…, in_channels), of the weight's dtype.
        - **labels** (Tensor) - int32 or int64, of the shape of hidden without its last axis.

    Outputs:
        Tensor: the loss. With ``reduction="none"`` the loss has the shape of labels; otherwise the
        loss is a scalar.

    Raises:
        InputError: shapes or dtypes do not match, the reduction is unknown, or label_smoothing is
            out of range.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested; float16 only)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import LinearCrossEntropy
        >>> op = LinearCrossEntropy(3, 2, weight_init="zeros")
        >>> op.forward(np.ones((1, 3), np.float32), np.int32([1]))
        array(0.6931472, dtype=float32)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        dtype: Any = None,
        route: str = "",
    ):
        cross_entropy.check_arguments(reduction, label_smoothing, "LinearCrossEntropy")
        attributes = {
            "ignore_index": int(ignore_index),
            "reduction": reduction,
            "label_smoothing": float(label_smoothing),
        }
        weight = make_parameter(weight_init, (out_channels, in_channels), dtype, "weight")
        super().__init__(LINEAR_CROSS_ENTROPY, attributes, {"weight": weight}, route)

    @classmethod
    def from_cells(cls, dense: Any, loss: Any = None, route: str = "") -> Any:
        """Builds the Cell from an `nn.Dense` without bias and an `nn.CrossEntropyLoss`.

        Raises:
            InputError: the nn.Dense has a bias or an activation, or the loss has class weights.
        """
        has_weights = loss is not None and loss.weight is not None
        if dense.has_bias or getattr(dense, "activation", None) is not None or has_weights:
            raise InputError(
                "LinearCrossEntropy replaces a plain matrix product and loss only",
                place="LinearCrossEntropy",
                expected="nn.Dense(…, has_bias=False) and nn.CrossEntropyLoss without weight",
            )
        classes, size = dense.weight.shape
        known: dict[str, Any] = {}
        if loss is not None:
            known = {name: getattr(loss, name) for name in LINEAR_CROSS_ENTROPY.attributes}
        return cls(size, classes, dense.weight, **known, route=route)

    def construct(self, hidden: Any, labels: Any) -> Any:
        """Computes the loss in chunks of rows; on the composite route, computes all logits."""
        return self.run(hidden, self.weight, labels)


FUNCTION_SPECS = (
    function_of_spec(
        "linear_cross_entropy",
        LINEAR_CROSS_ENTROPY,
        """Returns the cross entropy of hidden · weightᵀ, computed in chunks of rows.

        See `custom_ops.LinearCrossEntropy`.

        Args:
            hidden: (…, D), of the dtype of weight.
            weight: (classes, D).
            labels: int32 or int64, of the shape of hidden without its last axis.
            ignore_index, reduction, label_smoothing, route: as in `custom_ops.SoftmaxCrossEntropy`.

        Returns:
            The loss: a scalar, or with ``reduction="none"`` a tensor of the shape of labels.

        Raises:
            InputError: shapes or dtypes do not match, or an attribute is out of range.
        """,
    ),
)
