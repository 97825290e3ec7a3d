"""Computes softmax and log-softmax, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import check_whole_number
from custom_ops.core.framework import ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import broadcast_like, resolve_axis, total, widen
from tbe_impl import dsl


def softmax_terms(x: Any, axis: int) -> tuple[Any, Any, Any, Any]:
    """Returns max x, x − max x, e^(x − max x) and Σ e^(x − max x) over the axis."""
    largest = dsl.reduce_max(x, [axis], keepdims=True)
    distance = dsl.vsub(x, broadcast_like(largest, x))
    power = dsl.vexp(distance)
    return largest, distance, power, total(power, [axis])


def compute(x: Any, *, axis: int = -1) -> Any:
    """Computes e^(x − max x) / Σ e^(x − max x)."""
    _, _, power, sums = softmax_terms(widen(x), resolve_axis(x, axis, "Softmax"))
    return dsl.cast_to(dsl.vmul(power, broadcast_like(dsl.vrec(sums), x)), x.dtype)


def gradient(y: Any, grad: Any, *, axis: int = -1) -> Any:
    """Returns the gradient of x: y·(grad − Σ y·grad)."""
    value, slope = widen(y), widen(grad)
    share = total(dsl.vmul(value, slope), [resolve_axis(y, axis, "Softmax")])
    return dsl.cast_to(dsl.vmul(value, dsl.vsub(slope, broadcast_like(share, y))), y.dtype)


def composite(x: Any, axis: int = -1) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    power = ops.exp(ops.sub(x, ops.amax(x, axis, True)))
    return ops.div(power, ops.sum(power, axis, True))


def formula(x: Any, *, axis: int = -1) -> Any:
    """Returns e^x / Σ e^x in NumPy."""
    power = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return power / power.sum(axis, keepdims=True)


_SAMPLES = (((6, 40),), ((2, 3, 5, 17),), ((5, 1000),), ((0, 4),), ((8,),), ((3, 1),))

SOFTMAX = OpSpec(
    name="Softmax",
    inputs=("x",),
    forward=compute,
    backward=gradient,
    saves=("y",),
    attributes={"axis": -1},
    composite=composite,
    formula=formula,
    samples=_SAMPLES,
    nan="row",
    doc="y = e^x / Σ e^x",
)


class Softmax(FusedCell):
    r"""Softmax over an axis; replaces `mindspore.nn.Softmax`.

    .. math::
        y_i = \frac{e^{x_i}}{\sum_j e^{x_j}}

    Args:
        axis (int): the reduced axis. Default: ``-1``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, with at least one axis.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the axis is not an integer, or is out of range for x.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import Softmax
        >>> Softmax().forward(np.float32([[1, 1]]))
        array([[0.5, 0.5]], dtype=float32)
    """

    def __init__(self, axis: int = -1, route: str = ""):
        super().__init__(SOFTMAX, {"axis": check_whole_number("Softmax", "axis", axis)}, route)

    @classmethod
    def from_cells(cls, softmax: Any, route: str = "") -> Any:
        """Builds the Cell from an `nn.Softmax`."""
        return cls(_axis_of(softmax), route)


def _axis_of(cell: Any) -> int:
    """Returns the axis of an `nn.Softmax` or `nn.LogSoftmax`."""
    known = cell if hasattr(cell, "axis") else getattr(cell, "softmax", None) or cell.log_softmax
    axis = known.axis
    return int(axis[0]) if isinstance(axis, (tuple, list)) else int(axis)


def log_compute(x: Any, *, axis: int = -1) -> Any:
    """Computes x − max x − ln Σ e^(x − max x)."""
    _, distance, _, sums = softmax_terms(widen(x), resolve_axis(x, axis, "LogSoftmax"))
    return dsl.cast_to(dsl.vsub(distance, broadcast_like(dsl.vlog(sums), x)), x.dtype)


def log_gradient(y: Any, grad: Any, *, axis: int = -1) -> Any:
    """Returns the gradient of x: grad − e^y·Σ grad."""
    value, slope = widen(y), widen(grad)
    share = total(slope, [resolve_axis(y, axis, "LogSoftmax")])
    return dsl.cast_to(
        dsl.vsub(slope, dsl.vmul(dsl.vexp(value), broadcast_like(share, y))), y.dtype
    )


def log_composite(x: Any, axis: int = -1) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    distance = ops.sub(x, ops.amax(x, axis, True))
    return ops.sub(distance, ops.log(ops.sum(ops.exp(distance), axis, True)))


def log_formula(x: Any, *, axis: int = -1) -> Any:
    """Returns x − ln Σ e^x in NumPy."""
    distance = x - x.max(axis, keepdims=True, initial=-np.inf)
    return distance - np.log(np.exp(distance).sum(axis, keepdims=True))


LOG_SOFTMAX = OpSpec(
    name="LogSoftmax",
    inputs=("x",),
    forward=log_compute,
    backward=log_gradient,
    saves=("y",),
    attributes={"axis": -1},
    composite=log_composite,
    formula=log_formula,
    samples=_SAMPLES,
    nan="row",
    doc="y = x − ln Σ e^x",
)


class LogSoftmax(FusedCell):
    r"""Log-softmax over an axis; replaces `mindspore.nn.LogSoftmax`.

    .. math::
        y_i = x_i - \ln \sum_j e^{x_j}

    Args:
        axis (int): the reduced axis. Default: ``-1``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, with at least one axis.

    Outputs:
        Tensor of the shape and dtype of x.

    Raises:
        InputError: the axis is not an integer, or is out of range for x.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import LogSoftmax
        >>> LogSoftmax().forward(np.float32([[1, 1]]))
        array([[-0.6931472, -0.6931472]], dtype=float32)
    """

    def __init__(self, axis: int = -1, route: str = ""):
        super().__init__(
            LOG_SOFTMAX, {"axis": check_whole_number("LogSoftmax", "axis", axis)}, route
        )

    @classmethod
    def from_cells(cls, log_softmax: Any, route: str = "") -> Any:
        """Builds the Cell from an `nn.LogSoftmax`."""
        return cls(_axis_of(log_softmax), route)
