"""Defines the cross entropy Cell; labels are indices or probabilities, class weights optional."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import OperatorCell
from custom_ops.core.framework import HAS_MINDSPORE, ms
from custom_ops.core.function_spec import FunctionSpec, parameters_of
from custom_ops.core.weighted_cells import as_array
from custom_ops.operators.softmax_cross_entropy import (
    SOFTMAX_CROSS_ENTROPY,
    SOFTMAX_CROSS_ENTROPY_WEIGHTED,
    check_arguments,
)
from custom_ops.operators.softmax_cross_entropy_dense import SOFTMAX_CROSS_ENTROPY_DENSE
from tbe_impl.errors import InputError


class SoftmaxCrossEntropy(OperatorCell):
    r"""Softmax cross entropy; replaces `mindspore.nn.CrossEntropyLoss`.

    .. math::
        \ell = -\sum_c w_c t_c \ln \frac{e^{x_c}}{\sum_j e^{x_j}}, \quad
        t_c = (1 - \epsilon) \cdot y_c + \frac{\epsilon}{C}

    Args:
        weight (Tensor): :math:`w`, one value per class, without gradient. For index labels,
            ``mean`` divides the sum of the losses by the sum of the weights of the labels. For
            probability labels, ``mean`` divides the sum of the losses by the number of rows.
            ``None`` means 1 for all classes. Default: ``None``.
        ignore_index (int): rows with this index label are ignored. Default: ``-100``.
        reduction (str): ``none``, ``mean`` (over the rows that are not ignored) or ``sum``.
            Default: ``'mean'``.
        label_smoothing (float): :math:`\epsilon`, 0 to 1. Default: ``0.0``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **logits** (Tensor) - (C,), (N, C) or (N, C, …); float16, bfloat16, float32 or float64.
        - **labels** (Tensor) - :math:`y`. Index labels are int32 or int64 and have the shape of
          logits without the axis C. Probability labels have the shape of logits. Labels have no
          gradient.

    Outputs:
        Tensor: the loss. With ``reduction="none"`` the loss has the shape of logits without the
        axis C; otherwise the loss is a scalar. A row whose index label is out of range has the loss
        NaN.

    Raises:
        InputError: the reduction is unknown, label_smoothing is out of range, the weight is not a
            vector of numbers, or the shape of labels or weight does not match.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import SoftmaxCrossEntropy
        >>> SoftmaxCrossEntropy().forward(np.zeros((2, 2), np.float32), np.int32([0, 1]))
        array(0.6931472, dtype=float32)
    """

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        route: str = "",
    ):
        super().__init__()
        check_arguments(reduction, label_smoothing, "SoftmaxCrossEntropy")
        shared = {"reduction": reduction, "label_smoothing": float(label_smoothing)}
        of_indices = {"ignore_index": int(ignore_index), **shared}
        if weight is None:
            specs, kinds = (
                (SOFTMAX_CROSS_ENTROPY, SOFTMAX_CROSS_ENTROPY_DENSE),
                (of_indices, shared),
            )
        else:
            # probabilities have to be smoothed before they are weighted; `weight_labels` does both
            specs = SOFTMAX_CROSS_ENTROPY_WEIGHTED, SOFTMAX_CROSS_ENTROPY_DENSE
            kinds = of_indices, {"reduction": reduction, "label_smoothing": 0.0}
        for name, value in (
            ("specs", specs),
            ("kinds", kinds),
            ("spec", specs[0]),
            ("attributes", kinds[0]),
        ):
            object.__setattr__(self, name, value)
        self.weight = _vector(weight)
        self.label_smoothing = float(label_smoothing)
        self.of_indices = FusedCell(specs[0], kinds[0], route)
        self.of_shares = FusedCell(specs[1], kinds[1], route)
        if HAS_MINDSPORE:
            self.index_dtypes = (ms.int32, ms.int64)

    @classmethod
    def from_cells(cls, loss: Any, route: str = "") -> Any:
        """Builds the Cell from an `nn.CrossEntropyLoss`."""
        return cls(loss.weight, loss.ignore_index, loss.reduction, loss.label_smoothing, route)

    def construct(self, logits: Any, labels: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        if labels.dtype in self.index_dtypes:
            if self.weight is None:
                return self.of_indices(logits, labels)
            return self.of_indices(logits, labels, self.weight.astype(logits.dtype))
        if self.weight is not None:
            labels = weight_labels(logits, labels, self.weight, self.label_smoothing)
        return self.of_shares(logits, labels)

    def forward(self, *arrays: Any) -> Any:
        """Returns the loss, and saves the arrays for `backward`."""
        dense = len(arrays) > 1 and np.asarray(arrays[1]).dtype.kind not in "iu"
        object.__setattr__(self, "spec", self.specs[dense])
        object.__setattr__(self, "attributes", self.kinds[dense])
        if self.weight is not None and len(arrays) == 2:
            logits, labels = map(np.asarray, arrays)
            weight = as_array(self.weight).astype(logits.dtype)
            if not dense:
                return super().forward(logits, labels, weight)
            return super().forward(
                logits, weight_labels(logits, labels, weight, self.label_smoothing)
            )
        return super().forward(*arrays)


def _vector(weight: Any) -> Any:
    """Converts class weights to a Tensor, or to an array if MindSpore is not installed.

    If `weight` is None, the result is None.

    Raises:
        InputError: the weights are not a vector of numbers.
    """
    if weight is None:
        return None
    is_tensor = HAS_MINDSPORE and isinstance(weight, ms.Tensor)
    made = weight if is_tensor else np.asarray(weight)
    kind = str(made.dtype).lower()
    if made.ndim != 1 or not ("float" in kind or (not is_tensor and made.dtype.kind in "iu")):
        raise InputError(
            "SoftmaxCrossEntropy: weight is not a vector of numbers",
            place="SoftmaxCrossEntropy",
            expected="(C,) of floats",
            got=f"{tuple(made.shape)} {made.dtype}",
        )
    if is_tensor:
        return made
    made = made.astype(np.float32, copy=False)
    return ms.Tensor(made) if HAS_MINDSPORE else made


def weight_labels(logits: Any, labels: Any, weight: Any, label_smoothing: float) -> Any:
    """Smooths probability labels (Tensors or arrays), then multiplies them by class weights."""
    labels = labels.astype(logits.dtype)
    if label_smoothing:
        labels = labels * (1 - label_smoothing) + label_smoothing / weight.shape[0]
    if logits.ndim > 1:
        weight = weight.reshape((-1,) + (1,) * (logits.ndim - 2))
    return labels * weight.astype(logits.dtype)


class WeightedSoftmaxCrossEntropy(OperatorCell):
    """Softmax cross entropy like `SoftmaxCrossEntropy`, but with the class weights as an input."""

    def __init__(
        self,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        route: str = "",
    ):
        super().__init__()
        self.label_smoothing = label_smoothing
        attributes = {
            "ignore_index": ignore_index,
            "reduction": reduction,
            "label_smoothing": label_smoothing,
        }
        self.of_indices = FusedCell(SOFTMAX_CROSS_ENTROPY_WEIGHTED, attributes, route)
        self.of_shares = SoftmaxCrossEntropy(None, ignore_index, reduction, 0.0, route)

    def construct(self, logits: Any, labels: Any, weight: Any) -> Any:
        """Multiplies probability labels by the class weights, then runs one kernel."""
        if labels.dtype in self.of_shares.index_dtypes:
            return self.of_indices(logits, labels, weight.astype(logits.dtype))
        return self.of_shares(logits, weight_labels(logits, labels, weight, self.label_smoothing))

    def forward(self, logits: Any, labels: Any, weight: Any) -> Any:
        """Returns the loss; logits, labels and weight are NumPy arrays."""
        if labels.dtype.kind in "iu":
            return self.of_indices.forward(logits, labels, weight.astype(logits.dtype))
        shares = weight_labels(logits, labels, weight, self.label_smoothing)
        return self.of_shares.forward(logits, shares)


FUNCTION_SPECS = (
    FunctionSpec(
        "softmax_cross_entropy",
        SOFTMAX_CROSS_ENTROPY_WEIGHTED.inputs,
        WeightedSoftmaxCrossEntropy,
        parameters_of(WeightedSoftmaxCrossEntropy.__init__),
        optional=("weight",),
        build_without=SoftmaxCrossEntropy,
        doc="""Returns −Σ weight·labels·ln softmax(logits); see `custom_ops.SoftmaxCrossEntropy`.

        Args:
            logits, labels: as in `custom_ops.SoftmaxCrossEntropy`.
            weight: (C,), one value per class, which gets no gradient; None means 1.
            ignore_index, reduction, label_smoothing, route: as in `custom_ops.SoftmaxCrossEntropy`.

        Returns:
            The loss: a scalar, or with ``reduction="none"`` a tensor of the shape of logits without
            the axis C.

        Raises:
            InputError: the reduction is unknown, label_smoothing is out of range, or shapes do not
                match.
        """,
    ),
)
